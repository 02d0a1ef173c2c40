import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { emptyStore } from '../../support/pool/store/empty-store.ts';
import { Yard } from '../../support/pool/store/fixture.ts';
import { play, VERB_NAMES, type Step } from '../../support/pool/store/model.ts';

const LONG = process.env['HEDDLE_TEST_LONG'] === '1';
const RUNS = LONG ? 1_000 : 60;
const SEED = 20_261_121;

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('ask', 'arrive', 'pass', 'heartbeatAll', 'confirm') },
    { weight: 4, arbitrary: fc.constantFrom(...VERB_NAMES) },
  ),
  a: fc.nat(1_000),
  b: fc.nat(1_000),
  c: fc.nat(1_000),
});

test('the in-memory store and the PostgreSQL store behave alike in random histories', async () => {
  const { database } = await createTestDatabase({ maxSize: 2 });
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 50, size: 'max' }), async (steps) => {
    const settings = { max_uses: 3 };
    const memory = await Yard.open((given) => Promise.resolve(new MemoryRunnerStore(given)), settings);
    const postgres = await Yard.open((given) => emptyStore(database, given), settings);
    const expected = await play(memory, steps);
    const seen = await play(postgres, steps);
    assert.equal(seen.length, expected.length);
    for (const [at, look] of expected.entries()) assert.deepEqual(seen[at], look);
  });
  // Shrinking a failing history takes minutes.
  await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: !LONG });
});
