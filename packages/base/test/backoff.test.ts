import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { backoffMs } from '../src/backoff.ts';

test('without jitter the wait grows by the factor up to the bound', () => {
  const policy = { base_ms: 100, factor: 3, max_ms: 5_000, jitter: 0 };
  const waits = [1, 2, 3, 4, 5, 500].map((retry) => backoffMs(policy, retry, () => 0.9));
  assert.deepEqual(waits, [100, 300, 900, 2_700, 5_000, 5_000]);
});

test('full jitter draws from zero up to the whole, half of it from the upper half', () => {
  const full = { base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 1 };
  assert.equal(
    backoffMs(full, 1, () => 0),
    1_000,
  );
  assert.equal(
    backoffMs(full, 1, () => 0.75),
    250,
  );
  assert.equal(
    backoffMs({ ...full, jitter: 0.5 }, 2, () => 0.5),
    1_500,
  );
});

test('the wait is always a whole number of milliseconds from zero to the bound', () => {
  fc.assert(
    fc.property(
      fc.record({
        base_ms: fc.integer({ min: 0, max: 100_000 }),
        factor: fc.double({ min: 1, max: 100, noNaN: true }),
        max_ms: fc.integer({ min: 0, max: 86_400_000 }),
        jitter: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (policy, retry, draw) => {
        const waitMs = backoffMs(policy, retry, () => draw);
        assert.ok(Number.isSafeInteger(waitMs) && waitMs >= 0 && waitMs <= policy.max_ms);
      },
    ),
  );
});

test('retries count from 1', () => {
  assert.throws(() => backoffMs({ base_ms: 1, factor: 1, max_ms: 1, jitter: 0 }, 0, () => 0), RangeError);
});
