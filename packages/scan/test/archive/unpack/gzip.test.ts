import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';

import { ByteSource } from '../../../src/archive/byte-source.ts';
import { GzipUnpacker } from '../../../src/archive/unpack/gzip.ts';
import { briefly, MemoryReader, type MemoryOptions, readArchive } from '../../support/archive/reading.ts';

const KIB = 1024;

/** Text of which a part does not compress. */
function text(bytes: number, seed: number): Buffer {
  const content = Buffer.alloc(bytes, 'a line of text that is repeated\n');
  for (let at = 0, state = seed + 1; at < bytes; at += 16) {
    state = (state * 48_271) % 2_147_483_647;
    content[at] = state;
  }
  return content;
}

/** Around the sizes up to which a file is unpacked in one call. */
const member = fc
  .record({ bytes: fc.oneof(fc.nat(2000), fc.nat(200 * KIB), fc.nat(700 * KIB)), seed: fc.nat(1000) })
  .map(({ bytes, seed }) => text(bytes, seed));

const access: fc.Arbitrary<MemoryOptions> = fc.record({
  access: fc.constantFrom('carry', 'range'),
  later: fc.boolean(),
  read_bytes: fc.constantFrom(700, 5000, Infinity),
});

test('members of any size, in any number, give their content', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(member, { minLength: 1, maxLength: 3 }),
      fc.nat(3),
      access,
      async (members, padding, how) => {
        const bytes = Buffer.concat([...members.map((each) => gzipSync(each)), Buffer.alloc(padding)]);
        const { entries, problems } = await readArchive('a.gz', bytes, how);
        assert.deepEqual(briefly(problems), []);
        assert.ok(entries[0]!.content!.equals(Buffer.concat(members)));
      },
    ),
    { numRuns: 40 },
  );
});

test('a file that declares a wrong length gives its content and a problem, whatever its size', async () => {
  for (const size of [0, 1000, 300 * KIB, 900 * KIB]) {
    const content = text(size, 1);
    for (const stated of [0, size - 1, size + 1, 2 ** 32 - 1].filter((each) => each >= 0 && each !== size)) {
      const bytes = gzipSync(content);
      bytes.writeUInt32LE(stated, bytes.length - 4);
      const { entries, problems } = await readArchive('a.gz', bytes);
      assert.ok(entries.length === 0 ? size === 0 : entries[0]!.content!.equals(content), `${size} ${stated}`);
      assert.equal(problems[0]?.message, 'the length of a gzip member is wrong');
    }
  }
});

test('an entry ends at its limit, and has no problem if that is where it ends', async () => {
  for (const size of [1000, 900 * KIB]) {
    const bytes = gzipSync(text(size, 2));
    for (const limit of [size - 1, size]) {
      const { entries, problems } = await readArchive('a.gz', bytes, { budgets: { entryBytesMax: limit } });
      assert.equal(entries[0]!.content?.length, limit);
      assert.deepEqual(briefly(problems), limit === size ? [] : ['entry_bytes_budget partial a.gz!a']);
    }
  }
});

test('pieces are freed once the next one is requested', async () => {
  for (const size of [100 * KIB, 3000 * KIB]) {
    const content = text(size, 3);
    const unpacker = new GzipUnpacker(new ByteSource(new MemoryReader(gzipSync(content))));
    const pieces: Uint8Array[] = [];
    const copies: Buffer[] = [];
    for (let piece = await unpacker.next(); piece !== null; piece = await unpacker.next()) {
      pieces.push(piece);
      copies.push(Buffer.from(piece));
    }
    unpacker.close();
    assert.ok(Buffer.concat(copies).equals(content));
    assert.deepEqual(
      pieces.map((each) => each.length),
      pieces.map(() => 0),
    );
  }
});
