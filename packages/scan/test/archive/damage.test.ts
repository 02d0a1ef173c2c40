import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import fc from 'fast-check';

import { readArchive, type ArchiveRead, type ReadOptions } from '../support/archive/reading.ts';

/** One small archive of each kind. */
const NAMES = [
  ...['gnu.tar', 'posix.tar', 'sparse-gnu.tar', 'tree.tar.gz', 'tree.tar.bz2', 'tree.tar.xz', 'tree.tar.zst'],
  ...[
    'deflated.zip',
    'stored.zip',
    'zip64.zip',
    'descriptors.zip',
    'streamed.zip',
    'stub.jar',
    'bzip2.zip',
    'encrypted.zip',
  ],
  ...['members.gz', 'named.gz', 'streams.bz2', 'crc32.xz', 'blocks.xz', 'streams.xz', 'frames.zst', 'delta.xz'],
] as const;

const PREFIXES_EACH = 40;
const MUTATIONS = 1500;
/** Limits for any damaged form of these archives: far above their content, and far below anything harmful. */
const BUDGETS = { entryBytesMax: 512 * 1024, archiveBytesMax: 1024 * 1024, rootBytesMax: 2 * 1024 * 1024 };
const UNPACKED_BYTES_MAX = BUDGETS.rootBytesMax + 2 * 1024 * 1024;

const CODES = new Set([
  'malformed_archive',
  'unsupported_archive',
  'encrypted',
  'unsafe_name',
  'overlapping_entries',
  'name_budget',
  'entry_bytes_budget',
  'archive_bytes_budget',
  'root_bytes_budget',
  'ratio_budget',
  'entry_count_budget',
  'depth_budget',
]);

const ARCHIVES = new Map(NAMES.map((name) => [name, readFileSync(join(import.meta.dirname, 'fixtures', name))]));

/**
 * Reads damaged data in its original format, nested archives too; the output is within limits and everything is
 * closed.
 */
async function readDamaged(name: string, bytes: Uint8Array, options: ReadOptions): Promise<ArchiveRead> {
  const format = FORMATS.find(([pattern]) => pattern.test(name))![1];
  const read = await readArchive(name, bytes, { ...options, format, nested: true, budgets: BUDGETS });
  assert.ok(read.unpacked_bytes <= UNPACKED_BYTES_MAX, `${read.unpacked_bytes} bytes were unpacked`);
  for (const { code } of read.problems) assert.ok(CODES.has(code), code);
  return read;
}

const FORMATS = [
  [/\.tar$/, 'tar'],
  [/\.gz$/, 'gzip'],
  [/\.bz2$/, 'bzip2'],
  [/\.xz$/, 'xz'],
  [/\.zst$/, 'zstd'],
  [/\.(?:zip|jar)$/, 'zip'],
] as const;

suite('truncated archives', () => {
  for (const [name, bytes] of ARCHIVES) {
    test(name, async () => {
      const whole = await readArchive(name, bytes);
      const contentOf = new Map(whole.entries.map((entry) => [entry.name, entry.content]));
      const step = Math.max(1, Math.floor(bytes.length / PREFIXES_EACH));
      for (const access of ['range', 'carry'] as const) {
        for (let length = 0; length < bytes.length; length += step) {
          const read = await readDamaged(name, bytes.subarray(0, length), { access });
          for (const { name: entry, content } of read.entries) {
            const expected = contentOf.get(entry);
            if (expected === undefined || expected === null || content === null) continue;
            assert.ok(
              expected.subarray(0, content.length).equals(content),
              `${name}, ${length} bytes: ${entry} has other content`,
            );
          }
        }
      }
    });
  }
});

test('archives with one changed byte', async () => {
  const anyMutation = fc.record({
    name: fc.constantFrom(...NAMES),
    access: fc.constantFrom('range' as const, 'carry' as const),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.nat({ max: 255 }),
  });
  await fc.assert(
    fc.asyncProperty(anyMutation, async ({ name, access, at, byte }) => {
      const bytes = Buffer.from(ARCHIVES.get(name)!);
      bytes[Math.floor(at * bytes.length)] = byte;
      await readDamaged(name, bytes, { access });
    }),
    { numRuns: MUTATIONS },
  );
});

test('archives with a missing or repeated part', async () => {
  const anyEdit = fc.record({
    name: fc.constantFrom(...NAMES),
    access: fc.constantFrom('range' as const, 'carry' as const),
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(anyEdit, async ({ name, access, from, to }) => {
      const bytes = ARCHIVES.get(name)!;
      const edited = [bytes.subarray(0, from * bytes.length), bytes.subarray(to * bytes.length)];
      await readDamaged(name, Buffer.concat(edited), { access });
    }),
    { numRuns: 500 },
  );
});

test('random bytes, read as an archive of each kind', async () => {
  const anyBytes = fc.record({
    bytes: fc.uint8Array({ maxLength: 2000 }),
    name: fc.constantFrom(...NAMES),
    keep: fc.nat({ max: 40 }),
  });
  await fc.assert(
    fc.asyncProperty(anyBytes, async ({ bytes, name, keep }) => {
      const head = ARCHIVES.get(name)!.subarray(0, keep);
      await readDamaged(name, Buffer.concat([head, bytes]), { access: 'carry' });
    }),
    { numRuns: 500 },
  );
});
