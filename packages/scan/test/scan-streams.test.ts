import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { ScanOptions } from '../src/options.ts';
import { buildTar } from './support/archive/corpus/tar.ts';
import { buildZip } from './support/archive/corpus/zip.ts';
import { optionsFor, outcomeOf, scan, type Scanned, temporaryFolder, write } from './support/scan-fixture.ts';
import { runUntil } from './support/killed-scan.ts';
import { SEGMENT_BYTES, textWithSecrets } from './support/segment-texts.ts';

const SEED = Number(process.env['HEDDLE_PROPERTY_SEED'] ?? 20_261_128);

const workerEntry = new URL('./support/odd-worker.ts', import.meta.url);

const SEGMENTS = 24;
const TEXT = textWithSecrets(SEED, SEGMENTS);

async function scanWith(path: string, threads: number, changes: Partial<ScanOptions> = {}): Promise<Scanned> {
  const options = optionsFor(path, { chunkBytes: 4096, threads, ruleTimeoutMs: 60_000, ...changes });
  return scan(options, { segmentBytes: SEGMENT_BYTES, ...(threads === 1 ? {} : { workerEntry }) });
}

const segments = ({ summary }: Scanned): number => summary.metrics.scan_count;

function withWrongChecksum(bytes: Buffer): Buffer {
  bytes[bytes.length - 6]! ^= 1;
  return bytes;
}

const ARCHIVES: readonly [string, () => Uint8Array][] = [
  ['a gzip file', () => gzipSync(TEXT)],
  ['a Zstandard file', () => zstdCompressSync(TEXT)],
  ['a gzip file of UTF-16', () => gzipSync(Buffer.from(TEXT, 'utf16le'))],
  ['a deflated entry of a zip file', () => buildZip([{ name: 'large.txt', content: TEXT }])],
  ['a stored entry of a zip file', () => buildZip([{ name: 'large.txt', content: TEXT, stored: true }])],
  [
    'entries of a tar file',
    () =>
      buildTar(
        ['a', 'b', 'c'].map((name) => ({
          name: `${name}.txt`,
          content: textWithSecrets(SEED + name.charCodeAt(0), SEGMENTS),
        })),
      ),
  ],
  [
    'a tar file in a gzip file',
    () =>
      gzipSync(
        buildTar([
          { name: 'a', content: TEXT },
          { name: 'b', content: TEXT },
        ]),
      ),
  ],
  [
    'a gzip file in a tar file',
    () =>
      buildTar([
        { name: 'a.gz', content: gzipSync(TEXT) },
        { name: 'b', content: 'b' },
      ]),
  ],
  ['a gzip file that ends early', () => gzipSync(TEXT).subarray(0, -2000)],
  ['an entry that ends early', () => buildTar([{ name: 'a', content: TEXT }]).subarray(0, -70_000)],
  ['a gzip file with a wrong checksum', () => withWrongChecksum(gzipSync(TEXT))],
  [
    'an entry that ends at the border of a segment',
    () => buildTar([{ name: 'a', content: TEXT.slice(0, 16 * SEGMENT_BYTES) }]),
  ],
];

for (const [name, bytes] of ARCHIVES) {
  test(`${name} gives the same findings when another thread helps`, async (t) => {
    const path = join(temporaryFolder(t), 'helped');
    write(path, bytes());
    const whole = await scanWith(path, 1);
    assert.ok(whole.findings.length > SEGMENTS / 4, `${whole.findings.length}`);
    const helped = await scanWith(path, 2);
    assert.equal(outcomeOf(helped), outcomeOf(whole));
    // Before a segment, a thread that helps scans some of what precedes it.
    assert.ok(segments(helped) > segments(whole), `${segments(helped)} and ${segments(whole)} chunks`);
  });
}

test('the built-in rules find the same in an entry when another thread helps', async (t) => {
  const path = join(temporaryFolder(t), 'helped');
  write(path, gzipSync(TEXT.repeat(3)));
  const options = optionsFor(path, { rules: [], chunkBytes: 64 * 1024, ruleTimeoutMs: 60_000 });
  const at = { segmentBytes: 256 * 1024 };
  const whole = await scan({ ...options, threads: 1 }, at);
  const helped = await scan({ ...options, threads: 2 }, { ...at, workerEntry });
  assert.ok(whole.findings.some(({ rule_id }) => rule_id.includes('private-key')));
  assert.equal(outcomeOf(helped), outcomeOf(whole));
  assert.ok(segments(helped) > segments(whole));
});

test('limits of archives and objects end an entry at the same place when another thread helps', async (t) => {
  const path = join(temporaryFolder(t), 'helped');
  write(path, buildTar(['a', 'b', 'c'].map((name) => ({ name: `${name}.gz`, content: gzipSync(TEXT) }))));
  const { archives } = optionsFor(path);
  const limits: Partial<ScanOptions>[] = [
    { archives: { ...archives, entryBytesMax: 1_034_567 } },
    { archives: { ...archives, rootBytesMax: 4_234_567 } },
    { archives: { ...archives, rootBytesMax: 4_234_567, policy: 'skip' } },
    { archives: { ...archives, ratioMax: 2 } },
    { objectBytesMax: 1_034_567 },
  ];
  for (const limit of limits) {
    const whole = await scanWith(path, 1, limit);
    assert.ok(whole.problems.length > 0);
    assert.equal(outcomeOf(await scanWith(path, 2, limit)), outcomeOf(whole));
  }
});

test('a thread that exits while it helps with an entry costs nothing', async (t) => {
  const path = join(temporaryFolder(t), 'helped-lost');
  write(path, gzipSync(TEXT));
  const whole = await scanWith(path, 1);
  const helped = await scanWith(path, 2);
  assert.ok(statSync(`${path}.help`).isFile());
  assert.equal(outcomeOf(helped), outcomeOf(whole));
});

test('killed while a thread helps with an entry, a scan loses and duplicates nothing', async (t) => {
  const folder = temporaryFolder(t);
  const tree = join(folder, 'tree');
  for (const name of ['a.gz', 'b.gz']) {
    const text = 'a line without secrets, then another one\n'.repeat(13);
    const lines = Array.from({ length: 6000 }, (_, at) => `${text}MADEUP-${100_000 + at}\n`);
    write(join(tree, name), gzipSync(lines.join('')));
  }
  const { findings } = await scan(optionsFor(tree, { threads: 1 }));
  const all = findings.map(({ path, secret }) => `${path}:${secret}`);
  const arguments_ = [tree, join(folder, 'state'), String(512 * 1024)];
  for (const killAfter of [300, 4000]) {
    const { lines, isComplete } = await runUntil(arguments_, killAfter);
    assert.ok(!isComplete);
    assert.deepEqual(lines, all.slice(0, lines.length), 'in order, none left out');
  }
  const { lines, isComplete } = await runUntil(arguments_, Infinity);
  assert.ok(isComplete);
  assert.deepEqual(lines, all);
});
