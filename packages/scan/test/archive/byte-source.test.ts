import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { ByteSource, CHUNK_BYTES } from '../../src/archive/byte-source.ts';
import { MemoryReader } from '../support/archive/reading.ts';

const length = fc.oneof(fc.nat(100), fc.nat(20_000), fc.nat(CHUNK_BYTES));

test('an object is read as it is, whatever its size and whether that is known', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        bytes: fc.oneof(fc.nat(5000), fc.nat(1_000_000)),
        access: fc.constantFrom('carry' as const, 'range' as const),
        read_bytes: fc.constantFrom(3000, 100_000, Infinity),
      }),
      fc.array(fc.record({ how: fc.constantFrom('peek', 'skip', 'readInto'), length }), { maxLength: 30 }),
      async ({ bytes, ...options }, steps) => {
        const content = Buffer.from(Uint32Array.from({ length: Math.ceil(bytes / 4) }, (_, at) => at).buffer, 0, bytes);
        const source = new ByteSource(new MemoryReader(content, options));
        let at = 0;
        for (const step of steps) {
          const left = Math.min(step.length, bytes - at);
          if (step.how === 'peek') {
            const chunk = await source.peek(step.length);
            assert.ok(chunk.length >= left && content.subarray(at, at + chunk.length).equals(chunk));
            source.consume(left);
            at += left;
          } else if (step.how === 'skip') {
            assert.equal(await source.skip(left), true);
            at += left;
          } else if (step.length > 0) {
            const target = Buffer.alloc(step.length);
            const count = await source.readInto(target, 0, step.length);
            assert.equal(count === 0, at === bytes);
            assert.ok(content.subarray(at, at + count).equals(target.subarray(0, count)));
            at += count;
          }
          assert.equal(source.position, at);
        }
      },
    ),
    { numRuns: 100 },
  );
});
