/** Settings that bound what callers make an executor hold and write. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { openAuditLog } from '../../../src/remote/audit/log.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { silentLogger } from '../../../src/runtime/log.ts';
import { RawConnection, u32 } from '../../remote/tcp/raw-connection.ts';
import { eventually } from '../../support/eventually.ts';
import { endpointOf, ExecutorSite } from './executor-process.ts';

const MIB = 1_048_576;
const LINES = 8_000;
const YEARS_AGO_MS = 1_600_000_000_000;
const PLAIN = { HEDDLE_EXECUTOR_TIER: 'process' };

async function newSite(t: TestContext): Promise<ExecutorSite> {
  const site = new ExecutorSite();
  t.after(() => site.dispose());
  return site.prepare();
}

/** Writes a log of years ago, of several files and about 2 MiB, where the executor continues it. */
async function writeOldLog(site: ExecutorSite): Promise<void> {
  const path = join(site.path, 'data/audit/audit.log');
  const clock = new VirtualClock(YEARS_AGO_MS);
  const log = await openAuditLog({ path, clock, log: silentLogger, fileBytesMax: MIB / 4 });
  for (let line = 0; line < LINES; line += 1)
    log.append({ action: 'canceled', client: 'laptop', correlation_id: `task ${line}` });
  await log.close();
}

function auditFiles(site: ExecutorSite): string[] {
  const directory = join(site.path, 'data/audit');
  return readdirSync(directory).map((name) => join(directory, name));
}

/** Runs the executor until it has recorded a rejected request, and returns the text of its audit log. */
async function recordRejection(site: ExecutorSite, settings: Record<string, string>): Promise<string> {
  const ready = await site.start({ ...PLAIN, ...settings });
  const client = site.client(endpointOf(ready, 'tcp'));
  await assert.rejects(client.submit('NoSuchEvent', {}));
  await client.close();
  assert.equal(await site.run!.end('SIGTERM'), 0);
  return auditFiles(site)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
}

test('HEDDLE_EXECUTOR_AUDIT_MAX_MB bounds the audit log, deleting the oldest lines', async (t) => {
  const site = await newSite(t);
  await writeOldLog(site);
  const bytes = (): number => auditFiles(site).reduce((sum, file) => sum + statSync(file).size, 0);
  assert.ok(bytes() > 1.5 * MIB, `${bytes()} bytes`);
  const kept = await recordRejection(site, { HEDDLE_EXECUTOR_AUDIT_MAX_MB: '4' });
  assert.match(kept, /"task 0"/);
  const cut = await recordRejection(site, { HEDDLE_EXECUTOR_AUDIT_MAX_MB: '1' });
  assert.ok(bytes() <= 1.1 * MIB, `${bytes()} bytes are left`);
  assert.doesNotMatch(cut, /"task 0"/);
  assert.match(cut, new RegExp(`"task ${LINES - 1}"`));
});

test('HEDDLE_EXECUTOR_AUDIT_KEEP_DAYS deletes lines that are older', async (t) => {
  const site = await newSite(t);
  await writeOldLog(site);
  const text = await recordRejection(site, { HEDDLE_EXECUTOR_AUDIT_KEEP_DAYS: '30' });
  assert.doesNotMatch(text, /"task \d+"/);
  assert.match(text, /"action":"pruned"/);
});

test('HEDDLE_EXECUTOR_UNPROVEN_MAX_MB bounds what unfinished requests of unknown callers hold', async (t) => {
  const site = await newSite(t);
  const ready = await site.start({ ...PLAIN, HEDDLE_EXECUTOR_UNPROVEN_MAX_MB: '16' });
  const port = Number(new URL(endpointOf(ready, 'tcp').replace(/^\S+:\/\//, 'http://')).port);
  const unfinished = Buffer.concat([u32(4 * MIB), u32(2), Buffer.from('{}'), Buffer.alloc(3.5 * MIB)]);
  const strangers: RawConnection[] = [];
  // The fifth exceeds the limit: the first is cut for it. None would be for 30 seconds otherwise.
  for (let number = 0; number < 5; number += 1) {
    const stranger = await RawConnection.open(port, null);
    t.after(() => stranger.socket.destroy());
    strangers.push(stranger);
    stranger.socket.write(unfinished);
  }
  await eventually(() => strangers.some(({ closed }) => closed), 'the excess to be cut', 15_000);
  assert.ok(strangers.filter(({ closed }) => closed).length < 3);
});
