import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { fuzz, FuzzFailure, TARGETS } from '../support/fuzz/run.ts';

/** Fixed, so that results are reproducible; `npm run fuzz` uses other seeds. */
const SEED = 20_260_101;
const RUNS = { frames: 15_000, xml: 6_000, envelopes: 10_000 } as const;

describe('randomly damaged input', () => {
  for (const target of TARGETS) {
    it(`${target}: is rejected as malformed or read consistently, however it is split`, async () => {
      await fuzz({ target, runs: RUNS[target], seed: SEED });
    });
  }

  it('reports how to repeat a failed case', () => {
    assert.match(new FuzzFailure('xml', 17, new Error('x')).message, /--only xml --seed 17 --runs 1/);
  });
});
