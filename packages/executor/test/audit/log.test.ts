import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

import { openAuditLog, type AuditLogOptions } from '../../src/audit/log.ts';
import type { AuditEntry } from '../../src/audit/port.ts';
import { verifyAuditLog } from '../../src/audit/verify.ts';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'heddle-audit-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const optionsFor = (path: string, more: Partial<AuditLogOptions> = {}): AuditLogOptions => ({
  path,
  clock: systemClock,
  log: silentLogger,
  ...more,
});

const canceled = (correlation_id: string): AuditEntry => ({ action: 'canceled', client: 'tester', correlation_id });

const refusal = (client: string | null): AuditEntry => ({
  action: 'rejected',
  client,
  ingress: 'tcp',
  remote_address: '192.0.2.1',
  code: 'UNAUTHENTICATED',
  event_name: null,
});

const linesOf = (path: string): Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

async function writeLog(path: string, count: number, more: Partial<AuditLogOptions> = {}): Promise<void> {
  const log = await openAuditLog(optionsFor(path, more));
  for (let index = 0; index < count; index += 1) log.append(canceled(`task ${index}`));
  await log.close();
}

test('entries are chained JSON lines that only their owner may read, and the chain continues after a restart', async (t) => {
  const path = join(directory(t), 'deep', 'audit.jsonl');
  await writeLog(path, 2);
  await writeLog(path, 1);
  const lines = linesOf(path);
  assert.deepEqual(
    lines.map(({ seq, action, correlation_id }) => [seq, action, correlation_id]),
    [
      [1, 'canceled', 'task 0'],
      [2, 'canceled', 'task 1'],
      [3, 'canceled', 'task 0'],
    ],
  );
  assert.equal(lines[0]!['prev'], '0'.repeat(64));
  assert.equal(lines[2]!['prev'], lines[1]!['hash']);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const verdict = await verifyAuditLog([path]);
  assert.deepEqual([verdict.fault, verdict.lines, verdict.notes], [null, 3, []]);
});

test('a full file is renamed by its first line, and the chain continues in a new one', async (t) => {
  const folder = directory(t);
  const path = join(folder, 'audit.log');
  const log = await openAuditLog(optionsFor(path, { fileBytesMax: 2_000 }));
  for (let index = 0; index < 60; index += 1) {
    log.append(canceled(`task ${index}`));
    if (index % 5 === 4)
      await eventually(() => readdirSync(folder).length > 0 && allLines(folder) === index + 1, 'lines');
  }
  await log.close();
  const files = readdirSync(folder).sort();
  assert.ok(files.length > 3 && files.includes('audit-000000000001.log'), files.join(' '));
  const paths = files.map((name) => join(folder, name));
  const verdict = await verifyAuditLog(paths.toReversed());
  assert.deepEqual([verdict.fault, verdict.lines, verdict.notes], [null, 60, []]);
  // Without the newest file, as after a crash between two steps of a rotation.
  rmSync(path);
  await writeLog(path, 1);
  assert.equal(linesOf(path)[0]!['seq'], allLines(folder));
  assert.equal((await verifyAuditLog(paths)).lines, allLines(folder));
  const gap = await verifyAuditLog(paths.filter((each) => !each.includes('000001')).concat());
  assert.match(gap.notes.join(), /begins at line \d+: older files/);
  const middle = await verifyAuditLog(paths.filter((_, index) => index !== 1));
  assert.match(middle.fault?.reason ?? '', /lines \d+ to \d+ are missing/);
});

function allLines(folder: string): number {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8').split('\n').length - 1)
    .reduce((sum, count) => sum + count, 0);
}

test('a torn last line is cut off and recorded in the next one', async (t) => {
  const path = join(directory(t), 'audit.log');
  await writeLog(path, 2);
  for (const torn of ['{"seq":3,"at":"2026-', '\0\0\0\0\0', '{']) {
    appendFileSync(path, torn);
    const before = await verifyAuditLog([path]);
    assert.deepEqual([before.fault, before.notes.length > 0], [null, true]);
    await writeLog(path, 1);
    const repaired = linesOf(path).at(-2)!;
    assert.deepEqual([repaired['action'], repaired['torn_text']], ['repaired', torn]);
    const after = await verifyAuditLog([path]);
    assert.equal(after.fault, null);
    assert.match(after.notes.join(), /a torn line was removed/);
  }
});

test('a log whose last line was altered is not continued', async (t) => {
  const path = join(directory(t), 'audit.log');
  await writeLog(path, 2);
  writeFileSync(path, readFileSync(path, 'utf8').replace('task 1', 'task X'));
  await assert.rejects(openAuditLog(optionsFor(path)), /audit\.log cannot be continued: it was altered/);
});

test('rejections of unknown callers are capped and counted; those of known callers are all kept', async (t) => {
  const path = join(directory(t), 'audit.log');
  const clock = new VirtualClock();
  const log = await openAuditLog(optionsFor(path, { clock, unknownRejections: { perSecond: 3, burst: 3 } }));
  for (let index = 0; index < 10; index += 1) log.append(refusal(null));
  for (let index = 0; index < 5; index += 1) log.append(refusal('tester'));
  await clock.advance(1_000);
  for (let index = 0; index < 4; index += 1) log.append(refusal(null));
  await clock.advance(9_000);
  for (let index = 0; index < 4; index += 1) log.append(refusal(null));
  await log.close();
  const written = linesOf(path).map(({ action, count, client }) => `${String(action)} ${String(count ?? client)}`);
  const rejected = (count: number, client: string): string[] => Array<string>(count).fill(`rejected ${client}`);
  assert.deepEqual(written, [
    ...rejected(3, 'null'),
    ...rejected(5, 'tester'),
    ...rejected(3, 'null'),
    'suppressed 8',
    ...rejected(3, 'null'),
    'suppressed 1',
  ]);
  assert.equal((await verifyAuditLog([path])).fault, null);
});

test('strings from callers are clipped, and their line feeds do not start a new line', async (t) => {
  const path = join(directory(t), 'audit.log');
  const log = await openAuditLog(optionsFor(path));
  log.append(canceled(`a\nb"}${'x'.repeat(100_000)}\ud800`));
  await log.close();
  assert.equal(linesOf(path).length, 1);
  assert.ok(statSync(path).size < 2_000);
  assert.equal((await verifyAuditLog([path])).fault, null);
});

/** Returns the number of the newest line; 0 while the file is being rotated. */
function newest(path: string): number {
  try {
    return Number(/.*"seq":(\d+)/s.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

const WRITER = `
import { openAuditLog } from '${new URL('../../src/audit/log.ts', import.meta.url).href}';
import { systemClock } from '${new URL('../../../base/src/clock.ts', import.meta.url).href}';
import { silentLogger } from '${new URL('../../../base/src/log.ts', import.meta.url).href}';
const log = await openAuditLog({ path: process.argv[1], clock: systemClock, log: silentLogger, fileBytesMax: 50_000 });
for (let index = 0; ; index += 1) {
  log.append({ action: 'canceled', client: 'tester', correlation_id: 'task ' + index });
  if (index % 20 === 0) await new Promise(setImmediate);
}`;

test('killing the writer repeatedly always leaves a chain that verifies', async (t) => {
  const folder = directory(t);
  const path = join(folder, 'audit.log');
  for (let round = 0; round < 5; round += 1) {
    const before = allLines(folder);
    const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, path], { stdio: 'ignore' });
    try {
      await eventually(() => newest(path) > before + 300 * (round + 1), 'new lines');
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    const verdict = await verifyAuditLog(readdirSync(folder).map((name) => join(folder, name)));
    assert.equal(verdict.fault, null);
    assert.ok(verdict.lines >= before + 300);
  }
  assert.ok(readdirSync(folder).length > 1, 'the log was rotated');
});

test('close waits until everything is on disk', async (t) => {
  const path = join(directory(t), 'audit.log');
  await writeLog(path, 5_000);
  assert.equal((await verifyAuditLog([path])).lines, 5_000);
});
