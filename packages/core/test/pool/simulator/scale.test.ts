import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ScaleRun, type Scale } from '../../support/pool/simulator/scale.ts';

const SMALL: Scale = { seed: 1, runners: 2_000, claimers: 600, types: 20, tenants: 50, seconds: 12 };
const LARGE: Scale = { seed: 1, runners: 50_000, claimers: 10_000, types: 50, tenants: 100, seconds: 20 };

test('equal seeds give equal runs, different seeds different ones', async () => {
  const scales = [SMALL, SMALL, { ...SMALL, seed: 2 }];
  const [one, same, other] = await Promise.all(scales.map((scale) => new ScaleRun(scale).run()));
  assert.deepEqual(one, same);
  assert.notEqual(one!.digest, other!.digest);
  const { asked, granted } = one!;
  assert.ok(granted > 0.7 * asked, `${granted} of ${asked}`);
});

test('fifty thousand runners and ten thousand requests', async (t) => {
  const startedAt = performance.now();
  const outcome = await new ScaleRun(LARGE).run();
  t.diagnostic(`${JSON.stringify(outcome)} in ${Math.round(performance.now() - startedAt)} ms`);
  assert.ok(outcome.granted > 10_000, `${outcome.granted} were granted`);
});
