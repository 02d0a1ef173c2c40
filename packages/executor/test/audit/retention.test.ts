import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { openAuditLog, type AuditLogOptions } from '../../src/audit/log.ts';
import { KEEP_ALL } from '../../src/audit/retention.ts';
import { verifyAuditLog, type AuditVerdict } from '../../src/audit/verify.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';

const DAY_MS = 86_400_000;

interface Kept {
  readonly folder: string;
  readonly clock: VirtualClock;
  /** Opens the log, writes this many lines, and closes it. */
  readonly write: (count: number) => Promise<void>;
  readonly files: () => string[];
  readonly verify: () => Promise<AuditVerdict>;
}

function kept(t: TestContext, retention: AuditLogOptions['retention'], more: Partial<AuditLogOptions> = {}): Kept {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const clock = new VirtualClock(1_700_000_000_000);
  const path = join(folder, 'audit.log');
  const files = (): string[] => readdirSync(folder).sort();
  return {
    folder,
    clock,
    files,
    write: async (count) => {
      const log = await openAuditLog({ path, clock, log: silentLogger, ...(retention && { retention }), ...more });
      for (let index = 0; index < count; index += 1) {
        log.append({ action: 'canceled', client: 'tester', correlation_id: `task ${index}` });
      }
      await log.close();
    },
    verify: () => verifyAuditLog(files().map((name) => join(folder, name))),
  };
}

test('beyond the size limit the oldest files are deleted, and the log records it', async (t) => {
  const { folder, write, files, verify } = kept(t, { ...KEEP_ALL, bytesMax: 20_000 });
  for (let round = 0; round < 30; round += 1) {
    await write(10);
    const bytes = files().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    assert.ok(bytes <= 20_000 + 3_000, `${bytes} bytes are kept`);
  }
  assert.ok(!files().includes('audit-000000000001.log'));
  const verdict = await verify();
  assert.equal(verdict.fault, null);
  assert.ok(verdict.first!.seq > 1 && verdict.last!.seq > 300);
  assert.match(verdict.notes.join(), /^the chain begins at line \d+: the executor deleted earlier lines at 2023-/);
  // Further deletions by others are not covered by the record.
  rmSync(join(folder, files()[0]!));
  const robbed = await verify();
  assert.match(robbed.notes.join(), /older files were not given/);
});

test('lines are deleted at most a day after they expire, even if little is written', async (t) => {
  const { clock, write, files, verify } = kept(t, { ...KEEP_ALL, ageMsMax: 7 * DAY_MS });
  for (let day = 0; day < 20; day += 1) {
    await write(1);
    await clock.advance(DAY_MS + 1);
  }
  await write(1);
  const { fault, first, notes } = await verify();
  assert.equal(fault, null);
  assert.ok(Date.parse(first!.at) >= clock.now() - 8 * DAY_MS - 20, first!.at);
  assert.ok(Date.parse(first!.at) < clock.now() - 6 * DAY_MS, first!.at);
  assert.ok(files().length <= 9, files().join(' '));
  assert.match(notes.join(), /by retention/);
});

test('a crash between the record and the deletion leaves a valid chain, which the next process continues', async (t) => {
  const keeper = kept(t, { ...KEEP_ALL, bytesMax: 12_000 });
  for (let round = 0; round < 3; round += 1) await keeper.write(10);
  const oldest = keeper.files()[0]!;
  assert.match(oldest, /^audit-0+1\.log$/);
  const path = join(keeper.folder, oldest);
  const bytes = readFileSync(path);
  for (let round = 0; round < 50 && keeper.files().includes(oldest); round += 1) await keeper.write(2);
  writeFileSync(path, bytes);
  assert.equal((await keeper.verify()).fault, null);
  await keeper.write(1);
  assert.ok(!keeper.files().includes(oldest));
  assert.equal((await keeper.verify()).fault, null);
});

test('an altered file and all later ones are not deleted', async (t) => {
  const keeper = kept(t, { ...KEEP_ALL, bytesMax: 12_000 });
  for (let round = 0; round < 3; round += 1) await keeper.write(10);
  const [oldest = ''] = keeper.files();
  const path = join(keeper.folder, oldest);
  assert.match(oldest, /^audit-0+1\.log$/);
  writeFileSync(path, readFileSync(path, 'utf8').replace(/task (\d)(?=[^\n]*\n$)/, 'task X'));
  for (let round = 0; round < 8; round += 1) await keeper.write(10);
  assert.ok(keeper.files().includes(oldest));
  assert.match((await keeper.verify()).fault?.reason ?? '', /was altered/);
});

test('nothing is deleted by default', async (t) => {
  const { clock, write, files, verify } = kept(t, undefined, { fileBytesMax: 2_000 });
  for (let round = 0; round < 5; round += 1) {
    await write(10);
    await clock.advance(400 * DAY_MS);
  }
  assert.ok(files().includes('audit-000000000001.log'));
  assert.equal((await verify()).first?.seq, 1);
});
