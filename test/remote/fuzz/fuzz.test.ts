import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { fuzz, FuzzFailure, TARGETS } from './run.ts';

/** Fixed here, so that what passes today passes tomorrow; `npm run fuzz` takes others. */
const SEED = 20_260_101;
const RUNS = { frames: 15_000, xml: 6_000, envelopes: 10_000 } as const;

describe('what is damaged at random', () => {
  for (const target of TARGETS) {
    it(`${target}: is refused as malformed or read alike however it is cut`, async () => {
      await fuzz({ target, runs: RUNS[target], seed: SEED });
    });
  }

  it('says how a case that went wrong is repeated', () => {
    assert.match(new FuzzFailure('xml', 17, new Error('x')).message, /--only xml --seed 17 --runs 1/);
  });
});
