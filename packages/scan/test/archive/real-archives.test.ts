import assert from 'node:assert/strict';
import { createCipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';

import { DETECT_BYTES, detectArchive, detectUnsupported } from '../../src/archive/open-archive.ts';
import { briefly, contents, readArchive, type MemoryOptions } from '../support/archive/reading.ts';

const LIST = Array.from({ length: 300 }, (_, i) => `line ${i} of a list that packs well\n`).join('');
const HELLO = 'hello, archive\n';
const LONG_NAME = `tree/sub/${'long-'.repeat(30)}name.txt`;

const FILES = { 'tree/greeting.txt': HELLO, 'tree/empty': '', 'tree/sub/list.txt': LIST };
const OLD_TREE = { ...FILES, 'tree/link': '' };
const TREE = { ...OLD_TREE, [LONG_NAME]: 'behind a long name\n' };
const TWINS = { 'tree/greeting.txt': HELLO, 'tree/twin.txt': '' };

const CPIO_TREE = { ...FILES, [LONG_NAME]: 'behind a long name\n' };

/** The content of each archive in `fixtures/` (created by its make.sh), and its report: `code extent path`. */
const ARCHIVES: Readonly<Record<string, { holds: Record<string, string>; reports?: readonly string[] }>> = {
  'v7.tar': { holds: OLD_TREE },
  'ustar.tar': { holds: OLD_TREE },
  'gnu.tar': { holds: TREE },
  'oldgnu.tar': { holds: TREE },
  'posix.tar': { holds: TREE },
  'hardlink.tar': { holds: TWINS },
  'concatenated.tar': { holds: { ...TREE, ...TWINS } },
  'empty.tar': { holds: {} },
  'tree.tar.gz': { holds: TREE },
  'tree.tar.bz2': { holds: TREE },
  'tree.tar.xz': { holds: TREE },
  'tree.tar.zst': { holds: TREE },
  'deflated.zip': { holds: FILES },
  'tree.zip': { holds: { ...TREE, 'tree/link': 'greeting.txt' } },
  'stored.zip': { holds: FILES },
  'zip64.zip': { holds: FILES },
  'descriptors.zip': { holds: FILES },
  'streamed.zip': { holds: { '-': LIST } },
  'commented.zip': { holds: FILES },
  'stub.jar': { holds: FILES },
  'stub-adjusted.jar': { holds: FILES },
  'trailing.zip': { holds: FILES },
  'bzip2.zip': { holds: FILES },
  'list.gz': { holds: { list: LIST } },
  'members.gz': { holds: { members: HELLO + LIST } },
  'named.gz': { holds: { 'greeting.txt': HELLO } },
  'padded.gz': { holds: { padded: LIST } },
  'trailing.gz': { holds: { trailing: LIST }, reports: ['malformed_archive partial trailing.gz'] },
  'list.bz2': { holds: { list: LIST } },
  'streams.bz2': { holds: { streams: HELLO + LIST } },
  'empty.bz2': { holds: { empty: '' } },
  'none.xz': { holds: { none: LIST } },
  'crc32.xz': { holds: { crc32: LIST } },
  'crc64.xz': { holds: { crc64: LIST } },
  'sha256.xz': { holds: { sha256: LIST } },
  'blocks.xz': { holds: { blocks: LIST } },
  'streams.xz': { holds: { streams: HELLO + LIST } },
  'empty.xz': { holds: { empty: '' } },
  'delta.xz': { holds: {}, reports: ['unsupported_archive skipped delta.xz'] },
  'x86.xz': { holds: {}, reports: ['unsupported_archive skipped x86.xz'] },
  'long.zst': { holds: {}, reports: ['unsupported_archive skipped long.zst'] },
  'list.zst': { holds: { list: LIST } },
  'list.lz4': { holds: { list: LIST } },
  'list.lzma': { holds: { list: LIST } },
  'legacy.lz4': { holds: { legacy: LIST } },
  'frames.lz4': { holds: { frames: HELLO + LIST } },
  'tree.tar.lz4': { holds: TREE },
  'newc.cpio': { holds: CPIO_TREE },
  'crc.cpio': { holds: CPIO_TREE },
  'odc.cpio': { holds: CPIO_TREE },
  'lzma.zip': { holds: FILES },
  'frames.zst': { holds: { frames: HELLO + LIST } },
};

/** Entries that are reported and cannot be read. */
const UNREAD: Readonly<Record<string, string>> = {
  'encrypted.zip': 'encrypted skipped',
  'aes.zip': 'encrypted skipped',
  'deflate64.zip': 'unsupported_archive skipped',
  'ppmd.zip': 'unsupported_archive skipped',
};

const READERS: Readonly<Record<string, MemoryOptions>> = {
  'at any offset': { access: 'range' },
  'front to back': { access: 'carry' },
  'front to back, asynchronously, seven bytes at a time': { access: 'carry', later: true, read_bytes: 7 },
};

function fixture(name: string): Buffer {
  return readFileSync(join(import.meta.dirname, 'fixtures', name));
}

for (const [how, options] of Object.entries(READERS)) {
  suite(`archives of other programs, read ${how}`, () => {
    for (const [name, { holds, reports = [] }] of Object.entries(ARCHIVES)) {
      test(name, async () => {
        const read = await readArchive(name, fixture(name), options);
        assert.deepEqual(briefly(read.problems), reports);
        assert.deepEqual(contents(read), holds);
      });
    }
  });
}

for (const [name, problem] of Object.entries(UNREAD)) {
  test(`${name}: each unreadable entry is reported, and the archive continues`, async () => {
    for (const access of ['range', 'carry'] as const) {
      const read = await readArchive(name, fixture(name), { access });
      // Some programs do not compress small files or encrypt empty ones.
      const named = briefly(read.problems);
      assert.ok(named.includes(`${problem} ${name}!tree/sub/list.txt`), named.join('\n'));
      for (const entry of read.entries) {
        const isNamed = named.includes(`${problem} ${name}!${entry.name}`);
        assert.equal(entry.content!.toString(), isNamed ? '' : FILES[entry.name as keyof typeof FILES]);
      }
      assert.equal(read.entries.length, 3);
      assert.ok(read.unpacked_bytes <= HELLO.length);
    }
  });
}

test('one part of a split archive is rejected', async () => {
  const read = await readArchive('split.zip', fixture('split.zip'));
  assert.deepEqual(briefly(read.problems), ['unsupported_archive skipped split.zip']);
  assert.equal(read.entries.length, 0);
});

test('sparse files in tar archives are read without their holes', async () => {
  for (const name of ['sparse-gnu.tar', 'sparse-pax.tar']) {
    const { entries, problems } = await readArchive(name, fixture(name));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      entries.map((entry) => entry.name),
      ['sparse'],
    );
    const content = entries[0]!.content!.toString();
    assert.ok(content.includes(LIST) && content.includes('the end'), name);
    assert.ok(content.length < 20_000, `${name}: ${content.length} bytes`);
  }
});

test('incompressible data is read too', async () => {
  for (const name of ['noise.xz', 'noise.lz4']) await readNoise(name);
});

async function readNoise(name: string): Promise<void> {
  const { entries } = await readArchive(name, fixture(name));
  const digest = createHash('sha256').update(entries[0]!.content!).digest('hex');
  assert.equal(entries[0]!.content!.length, 200_000);
  assert.equal(digest, createHash('sha256').update(noise(200_000)).digest('hex'));
}

/** The content that make.sh compresses: the key stream of AES-128 in counter mode with a zero key. */
function noise(length: number): Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16));
  return cipher.update(Buffer.alloc(length));
}

test('recognized but unsupported formats are named', () => {
  const head = (name: string): Uint8Array => fixture(name).subarray(0, DETECT_BYTES);
  assert.equal(detectUnsupported(head('tree.zip')), null);
  // As written by `xz --format=lzma` and Python: with unknown and with known size.
  const lzma = ['5d00008000ffffffffffffffff002a1a', '5d00000001290000000000000000', '5d00008000ffffffffffffffff7f2a1a'];
  const formats = lzma.map((start) => detectArchive('a', Buffer.from(start.padEnd(64, '5'), 'hex')));
  assert.deepEqual(formats, ['lzma', 'lzma', null]);
  assert.equal(detectArchive('a', Buffer.from(']\0\0 text, with zeros in it')), null);
  assert.equal(detectUnsupported(Buffer.from('hsqs\x07\0\0\0')), 'SquashFS');
});

test('checksums are verified: intact content with a wrong checksum', async () => {
  for (const name of ['crc32.xz', 'crc64.xz', 'sha256.xz', 'list.bz2']) {
    const bytes = Buffer.from(fixture(name));
    // After the header of a bzip2 block; before the index and the footer (28 and 12 bytes) of an xz file.
    const at = name.endsWith('.bz2') ? 11 : bytes.length - bytes.readUInt32LE(bytes.length - 8) * 4 - 4 - 12 - 4;
    bytes[at]! ^= 1;
    const read = await readArchive(name, bytes);
    assert.deepEqual(briefly(read.problems), [`malformed_archive partial ${name}`]);
    assert.match(read.problems[0]!.message, /checksum/);
    assert.deepEqual(Object.values(contents(read)), [LIST]);
  }
});

test('unopened archives are always reported', () => {
  const lha = Buffer.concat([Buffer.from([0x20, 0x10]), Buffer.from('-lh5-'), Buffer.alloc(30)]);
  const cases: readonly (readonly [string, Buffer, RegExp | null])[] = [
    ['a', Buffer.from('532a4d1804000000aaaaaaaa', 'hex'), /skippable frame/],
    ['a.pkg', Buffer.from('xar!\0\x1c\0\x01'), /^XAR$/],
    ['a.lzh', lha, /^LHA$/],
  ];
  for (const [name, bytes, expected] of cases) {
    const found = detectUnsupported(bytes);
    if (expected === null) assert.equal(found, null, name);
    else assert.match(found ?? 'nothing', expected, name);
  }
});
