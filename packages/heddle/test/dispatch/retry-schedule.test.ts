import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import type { Delivery } from '@heddle/core/engine/port';
import { DEFAULT_RETRY_SCHEDULES, nextTryDelayMs, retryAfterMs } from '../../src/dispatch/retry-schedule.ts';
import { delivery } from '../support/dispatch/targets.ts';

/** Simulates a target that always fails at once; returns the waits, with a virtual clock. */
function playOut(one: Delivery, random: () => number, askedMs: number | null = null) {
  const clock = new VirtualClock();
  const startedAt = clock.now();
  const schedule = one.trigger === 'start' ? DEFAULT_RETRY_SCHEDULES.start : DEFAULT_RETRY_SCHEDULES.end;
  const waits: number[] = [];
  let nowMs = startedAt;
  for (let tries = 1; ; tries += 1) {
    const delayMs = nextTryDelayMs({ ...one, tries, first_try_at: startedAt }, schedule, nowMs, askedMs, random);
    if (delayMs === null) return { waits, elapsedMs: nowMs - startedAt };
    waits.push(delayMs);
    nowMs += delayMs;
  }
}

describe('the schedule of tries', () => {
  it('a start is retried within a second, with doubling waits, and abandoned within two minutes', () => {
    const { waits, elapsedMs } = playOut(delivery('https://example.com/', { trigger: 'start' }), () => 0);
    assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert.ok(elapsedMs < 120_000);
  });

  it('jitter spreads the waits between half and the whole', () => {
    const { waits } = playOut(delivery('https://example.com/', { trigger: 'start' }), seededRandomNext(3));
    const whole = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000];
    waits.forEach((wait, index) => assert.ok(wait >= whole[index]! / 2 && wait <= whole[index]!, `${wait}`));
    assert.ok(new Set(waits).size > 4);
  });

  it('an end is retried for most of a day', () => {
    for (const random of [() => 0, seededRandomNext(1)]) {
      const { waits, elapsedMs } = playOut(delivery('https://example.com/'), random);
      assert.equal(waits.length, 19);
      assert.ok(elapsedMs > 12 * 3_600_000 && elapsedMs < 24 * 3_600_000, `${elapsedMs / 3_600_000} h`);
    }
  });

  it("an action's own limits take precedence", () => {
    const one = delivery('https://example.com/');
    const twice = { ...one, action: { ...one.action, max_tries: 2 } };
    assert.deepEqual(playOut(twice, () => 0).waits, [1000]);
    const briefly = { ...one, action: { ...one.action, abandon_after_secs: 8 } };
    assert.deepEqual(playOut(briefly, () => 0).waits, [1000, 2000, 4000]);
    const once = { ...one, action: { ...one.action, max_tries: 1 } };
    assert.deepEqual(playOut(once, () => 0).waits, []);
  });

  it('Retry-After lengthens a wait up to a limit and never shortens it', () => {
    const start = delivery('https://example.com/', { trigger: 'start' });
    assert.deepEqual(playOut(start, () => 0, 50_000).waits, [50_000, 50_000]);
    assert.deepEqual(playOut(start, () => 0, 3_600_000).waits, [60_000]);
    assert.equal(playOut(start, () => 0, 1).waits[3], 8000);
  });

  it('reads Retry-After as seconds and as a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    assert.equal(retryAfterMs('120', now), 120_000);
    assert.equal(retryAfterMs(['7', '9'], now), 7000);
    assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:00:30 GMT', now), 30_000);
    assert.equal(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now), 0);
    for (const nothing of [undefined, '', 'soon', '-5', '1e9', '99999999999']) {
      const asked = retryAfterMs(nothing, now);
      assert.ok(asked === null || Number.isFinite(asked), String(nothing));
    }
    assert.equal(retryAfterMs('soon', now), null);
  });
});

function seededRandomNext(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random.next();
}
