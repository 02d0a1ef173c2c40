import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScanOptions } from '../src/options.ts';
import type { ScanEnvironment } from '../src/scan.ts';
import { optionsFor, outcomeOf, scan, type Scanned, temporaryFolder, write } from './support/scan-fixture.ts';
import { runUntil } from './support/killed-scan.ts';
import { SEGMENT_BYTES, SEGMENTS, textWithSecrets } from './support/segment-texts.ts';

const SEED = Number(process.env['HEDDLE_PROPERTY_SEED'] ?? 20_260_202);

/** Small chunks, so that a segment takes long enough for other threads to claim the next ones. */
const CHUNKS: Partial<ScanOptions> = { chunkBytes: 4096 };

const workerEntry = new URL('./support/odd-worker.ts', import.meta.url);

async function scanWith(
  path: string,
  threads: number,
  changes: Partial<ScanOptions> = {},
  environment: Partial<ScanEnvironment> = {},
): Promise<Scanned> {
  const options = optionsFor(path, { ...CHUNKS, threads, ruleTimeoutMs: 60_000, ...changes });
  return scan(options, { segmentBytes: SEGMENT_BYTES, ...environment });
}

test('one large file gives the same findings with any number of threads', async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const folder = temporaryFolder(t);
  const path = join(folder, 'large.txt');
  for (const seed of [SEED, SEED + 1]) {
    write(path, textWithSecrets(seed));
    const whole = await scanWith(path, 1);
    assert.ok(whole.findings.length > SEGMENTS / 2, `${whole.findings.length}`);
    for (const threads of [2, 3]) assert.equal(outcomeOf(await scanWith(path, threads)), outcomeOf(whole));
  }
});

test('the built-in rules find the same in a large file with any number of threads', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'large.txt');
  write(path, textWithSecrets(SEED));
  const whole = await scanWith(path, 1, { rules: [] });
  assert.ok(whole.findings.some(({ rule_id }) => rule_id.includes('private-key')));
  for (const threads of [2, 3]) assert.equal(outcomeOf(await scanWith(path, threads, { rules: [] })), outcomeOf(whole));
});

test('large files of UTF-16 and small ones are scanned by all threads at the same time', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['a', 'b', 'c']) write(join(folder, `${name}.txt`), Buffer.from(textWithSecrets(SEED), 'utf16le'));
  for (let at = 0; at < 100; at++) write(join(folder, `a-small-${at}`), `MADEUP-${100_000 + at}`);
  const whole = await scanWith(folder, 1);
  for (const threads of [2, 3]) assert.equal(outcomeOf(await scanWith(folder, threads)), outcomeOf(whole));
});

test('an idle thread scans segments that the thread with the object takes over', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'shared');
  write(path, textWithSecrets(SEED));
  const whole = await scanWith(path, 1);
  const helped = await scanWith(path, 2, {}, { workerEntry });
  assert.equal(outcomeOf(helped), outcomeOf(whole));
  // Before a segment, a thread that helps reads some of what precedes it.
  assert.ok(helped.summary.metrics.fetch_sync_count > whole.summary.metrics.fetch_sync_count);
});

test('a thread that exits while it helps costs nothing', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'shared-lost');
  write(path, textWithSecrets(SEED));
  const whole = await scanWith(path, 1);
  const helped = await scanWith(path, 2, {}, { workerEntry });
  assert.ok(statSync(`${path}.opened.again`).isFile(), 'a second thread opened it and exited');
  assert.equal(outcomeOf(helped), outcomeOf(whole));
});

test('killed while threads help, a scan loses and duplicates nothing', async (t) => {
  const folder = temporaryFolder(t);
  const tree = join(folder, 'tree');
  for (const name of ['a.txt', 'b.txt', 'c.txt']) {
    const text = 'a line without secrets, then another one\n'.repeat(13);
    write(join(tree, name), Array.from({ length: 6000 }, (_, at) => `${text}MADEUP-${100_000 + at}\n`).join(''));
  }
  const whole = await scan(optionsFor(tree, { threads: 1 }));
  const all = whole.findings.map(({ path, secret }) => `${path}:${secret}`);
  const arguments_ = [tree, join(folder, 'state'), String(1024 * 1024)];
  // Far from the end, since a pipe holds some thousand lines that were not read yet.
  for (const killAfter of [300, 3000, 6000]) {
    const { lines, isComplete } = await runUntil(arguments_, killAfter);
    assert.ok(!isComplete);
    assert.deepEqual(lines, all.slice(0, lines.length), 'in order, none left out');
  }
  const { lines, isComplete } = await runUntil(arguments_, Infinity);
  assert.ok(isComplete);
  assert.deepEqual(lines, all);
});

test('a stopped scan of a large file ends at once and releases everything', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'large.txt');
  write(path, textWithSecrets(SEED));
  const stopping = new AbortController();
  const options = optionsFor(path, { ...CHUNKS, threads: 2 });
  const { startScan } = await import('../src/scan.ts');
  const { systemClock } = await import('@heddle/base/clock');
  const ends: unknown[] = [];
  const summary = await startScan(
    options,
    { onFinding: () => stopping.abort(), onProblem: () => undefined },
    {
      clock: systemClock,
      segmentBytes: SEGMENT_BYTES,
      workBytesMin: 0,
      signal: stopping.signal,
      onThreadEnd: (live) => void ends.push(live),
    },
  );
  assert.equal(summary.outcome, 'aborted');
  for (const live of ends) assert.deepEqual(live, { contexts: 0, references: 0, buffers: 0 });
});
