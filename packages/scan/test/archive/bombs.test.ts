import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';

import { RATIO_FLOOR_BYTES } from '../../src/archive/context.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import * as bombs from '../support/archive/corpus/bombs.ts';
import { buildTar } from '../support/archive/corpus/tar.ts';
import { buildZip } from '../support/archive/corpus/zip.ts';
import { briefly, readArchive, type ReadOptions } from '../support/archive/reading.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Compressed data is charged in slices of 64 KiB: their maximum output, and one piece in progress. */
const STOPPED_BY_RATIO_BYTES = RATIO_FLOOR_BYTES + 128 * 64 * 1024 + MIB;
/** Only the piece in progress exceeds a budget, at each level. */
const PIECE_BYTES = 2 * MIB;

interface Bomb {
  path: string;
  bytes: () => Uint8Array;
  options?: ReadOptions;
  /** The codes in the report. */
  codes: readonly string[];
  unpacked_bytes_max: number;
}

const fixture = (name: string) => (): Buffer => readFileSync(join(import.meta.dirname, 'fixtures', name));

const BOMBS: Readonly<Record<string, Bomb>> = {
  'a gzip member of 10 GiB': {
    path: 'zeros.gz',
    bytes: () => bombs.gzippedZeros(10 * GIB),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'ten thousand gzip members': {
    path: 'zeros.gz',
    bytes: () => bombs.gzipMembers(10_000, 256 * 1024),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES + 16 * MIB,
  },
  'a zip entry of 1 GiB that declares a thousand bytes': {
    path: 'zeros.zip',
    bytes: () => bombs.lyingZip(GIB),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'the same in a nested archive': {
    path: 'outer.zip',
    bytes: () => buildZip([{ name: 'zeros.zip', content: bombs.lyingZip(GIB), stored: true }]),
    options: { nested: true },
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES + PIECE_BYTES,
  },
  'bzip2 of 200 MB': {
    path: 'zeros.bz2',
    bytes: fixture('zeros.bz2'),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'xz of 200 MB': {
    path: 'zeros.xz',
    bytes: fixture('zeros.xz'),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'Zstandard of 200 MB': {
    path: 'zeros.zst',
    bytes: () => zstdCompressSync(Buffer.alloc(200 * MIB)),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'a tar file of zeros in gzip': {
    path: 'zeros.tar.gz',
    bytes: () => bombs.gzippedZeros(4 * GIB),
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'nested archives, sixteen in each': {
    path: '42.zip',
    bytes: () => bombs.nestedZips(5, 16, 64 * MIB),
    options: { nested: true },
    codes: ['ratio_budget', 'depth_budget'],
    unpacked_bytes_max: 64 * MIB,
  },
  'a thousand small bombs, each below the floor': {
    path: 'many.zip',
    bytes: () => {
      const content = bombs.gzippedZeros(3 * MIB).subarray(0, -8);
      return buildZip(Array.from({ length: 1000 }, (_, i) => ({ name: `${i}.gz`, content, stored: true })));
    },
    options: { nested: true },
    codes: ['ratio_budget'],
    unpacked_bytes_max: 48 * MIB,
  },
  'entries that share their data': {
    path: 'shared.zip',
    bytes: () => bombs.sharedZip(1000, 16 * MIB),
    codes: ['overlapping_entries'],
    unpacked_bytes_max: 0,
  },
  'entries that quote each other': {
    path: 'quoting.zip',
    bytes: () => bombs.quotingZip(250, 16 * MIB),
    codes: ['overlapping_entries'],
    unpacked_bytes_max: 0,
  },
  'entries that quote each other, front to back': {
    path: 'quoting.zip',
    bytes: () => bombs.quotingZip(250, 16 * MIB),
    options: { access: 'carry' },
    codes: ['ratio_budget'],
    unpacked_bytes_max: STOPPED_BY_RATIO_BYTES,
  },
  'ten thousand levels of gzip': {
    path: 'levels.gz',
    bytes: () => bombs.nestedGzips(10_000),
    options: { nested: true },
    codes: ['depth_budget'],
    unpacked_bytes_max: 4 * MIB,
  },
  'ten thousand levels of Zstandard': {
    path: 'levels.zst',
    bytes: () => bombs.nestedZstd(10_000),
    options: { nested: true },
    codes: ['depth_budget'],
    unpacked_bytes_max: 4 * MIB,
  },
  'ten thousand empty entries': {
    path: 'empty.zip',
    bytes: () => buildZip(Array.from({ length: 10_000 }, (_, i) => ({ name: String(i), stored: true }))),
    codes: ['entry_count_budget'],
    unpacked_bytes_max: 0,
  },
  'ten thousand empty files in tar': {
    path: 'empty.tar',
    bytes: () => buildTar(Array.from({ length: 10_000 }, (_, i) => ({ name: String(i) }))),
    codes: ['entry_count_budget'],
    unpacked_bytes_max: 0,
  },
};

suite('bombs are stopped', () => {
  for (const [name, { path, bytes, options, codes, unpacked_bytes_max }] of Object.entries(BOMBS)) {
    test(name, async () => {
      const read = await readArchive(path, bytes(), options);
      assert.deepEqual([...new Set(read.problems.map(({ code }) => code))].sort(), [...codes].sort());
      assert.ok(read.unpacked_bytes <= unpacked_bytes_max, `${read.unpacked_bytes} bytes were unpacked`);
      assert.ok(read.entries.length <= SCAN_DEFAULTS.archives.entriesMax * 2);
    });
  }
});

test('with an unlimited ratio, the byte budgets of archive and root still apply', async () => {
  const bytes = bombs.gzippedZeros(10 * GIB);
  const archive = await readArchive('a.gz', bytes, {
    budgets: { ratioMax: 1e9, entryBytesMax: GIB, archiveBytesMax: 20 * MIB },
  });
  assert.deepEqual(briefly(archive.problems), ['archive_bytes_budget partial a.gz']);
  assert.ok(archive.unpacked_bytes <= 20 * MIB + PIECE_BYTES);
  assert.equal(archive.entries[0]!.content!.length, 20 * MIB, 'delivers exactly the bytes that fit');
  const root = await readArchive('a.gz', bytes, {
    budgets: { ratioMax: 1e9, entryBytesMax: GIB, rootBytesMax: 10 * MIB },
  });
  assert.deepEqual(briefly(root.problems), ['root_bytes_budget partial a.gz']);
  assert.ok(root.unpacked_bytes <= 10 * MIB + PIECE_BYTES);
});

test('ten thousand levels: opens archives up to the maximum depth and reports the last one', async () => {
  const read = await readArchive('levels.gz', bombs.nestedGzips(10_000), { nested: true });
  const { depthMax } = SCAN_DEFAULTS.archives;
  assert.equal(read.opened_archives, depthMax + 1);
  assert.deepEqual(briefly(read.problems), ['depth_budget skipped levels.gz!levels!levels!levels']);
});
