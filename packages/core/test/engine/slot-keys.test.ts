import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { newBench } from '@heddle/test-support/engine/fixture';

const { database } = await newBench();

const BOTH_WAYS = {
  name: 'test.slot_both_ways',
  text: `select slot_of(7, $3::smallint, $1::text[], $2::jsonb)::text as slot,
      ((hashtextextended(slot_key_of($1::text[], $2::jsonb)::text, 7) & -2) | ($3 - 1))::text as by_key`,
};

test('the slot of some metadata is the hash of its key, however many fields the shape has', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const metadata = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }));
  await fc.assert(
    fc.asyncProperty(fc.subarray(names), metadata, fc.constantFrom(1, 2), async (fields, values, type) => {
      const given = [fields, JSON.stringify(values), type];
      const [row] = await database.query<{ slot: string; by_key: string }>(BOTH_WAYS, given);
      assert.equal(row!.slot, row!.by_key);
    }),
    { seed: 20_260_101, numRuns: 200 },
  );
});
