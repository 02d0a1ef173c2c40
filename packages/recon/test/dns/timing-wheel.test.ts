import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { TICK_MS, TimingWheel } from '../../src/dns/timing-wheel.ts';

test('every deadline is reported once, never early, and at most a tick late', () => {
  const SLOTS = 20;
  const step = fc.record({
    slot: fc.nat(SLOTS - 1),
    // Including deadlines beyond one revolution of the wheel.
    delayMs: fc.double({ min: -5, max: 30_000, noNaN: true }),
    clear: fc.boolean(),
    passMs: fc.double({ min: 0, max: 15_000, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let nowMs = 1234.5;
      const wheel = new TimingWheel(SLOTS, nowMs);
      const model = new Map<number, number>();
      for (const { slot, delayMs, clear, passMs } of steps) {
        if (clear) {
          wheel.clear(slot);
          model.delete(slot);
        } else {
          wheel.set(slot, nowMs + delayMs);
          model.set(slot, nowMs + delayMs);
        }
        nowMs += passMs;
        wheel.expire(nowMs, (due) => {
          assert.ok(model.get(due)! <= nowMs, 'not early');
          model.delete(due);
        });
        for (const deadlineMs of model.values()) assert.ok(deadlineMs > nowMs - TICK_MS - 10, 'not late');
        assert.equal(wheel.size, model.size);
      }
    }),
    { numRuns: 300 },
  );
});

test('a deadline set during expiry waits for its own time', () => {
  const wheel = new TimingWheel(4, 0);
  for (const slot of [0, 1, 2]) wheel.set(slot, 10);
  const due: number[] = [];
  wheel.expire(10, (slot) => {
    due.push(slot);
    wheel.set(slot, 10 + 10 * due.length);
  });
  assert.deepEqual(due.toSorted(), [0, 1, 2]);
  assert.equal(wheel.size, 3);
  wheel.expire(20, (slot) => due.push(slot));
  assert.equal(due.length, 4);
});
