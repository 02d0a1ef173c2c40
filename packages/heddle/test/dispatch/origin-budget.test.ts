import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '@heddle/base/clock';
import { seededRandom } from '@heddle/base/random';
import { OriginBudget } from '../../src/dispatch/origin-budget.ts';
import type { Slot } from '../../src/dispatch/origin-budget.ts';

function budgetOf(changes: Partial<ConstructorParameters<typeof OriginBudget>[0]> = {}) {
  const clock = new VirtualClock();
  const budget = new OriginBudget({
    total: 64,
    perOrigin: 16,
    slowTotal: 256,
    slowAfterMs: 1000,
    clock,
    onRoom: () => undefined,
    ...changes,
  });
  return { clock, budget };
}

describe('the budget of tries', () => {
  it('excludes an origin while more than half of its share is in use', () => {
    const { budget } = budgetOf();
    const slots = Array.from({ length: 8 }, () => budget.start('a'));
    assert.deepEqual(budget.room(), { limit: 56, limit_per_origin: 8, saturated_origins: [] });
    slots.push(budget.start('a'));
    assert.deepEqual(budget.room(), { limit: 55, limit_per_origin: 16, saturated_origins: ['a'] });
    slots.forEach((slot) => slot.end());
    assert.deepEqual(budget.room(), { limit: 64, limit_per_origin: 16, saturated_origins: [] });
  });

  it('never lets an origin exceed its share, whatever a claim returns', () => {
    const { budget } = budgetOf();
    const random = seededRandom(7);
    const running = new Map<string, Slot[]>();
    for (let step = 0; step < 5000; step += 1) {
      const room = budget.room();
      const origins = ['a', 'b', 'c', 'd', 'e', 'f'].filter((origin) => !room.saturated_origins.includes(origin));
      let left = room.limit;
      for (const origin of origins) {
        const count = Math.min(left, Math.floor(random.next() * (room.limit_per_origin + 1)));
        left -= count;
        const slots = running.get(origin) ?? [];
        for (let n = 0; n < count; n += 1) slots.push(budget.start(origin));
        running.set(origin, slots);
        assert.ok(slots.length <= 16, `${origin} has ${slots.length}`);
      }
      for (const slots of running.values()) {
        while (slots.length > 0 && random.next() < 0.6) slots.pop()!.end();
      }
    }
  });

  it('a slow try frees its place for others', async () => {
    const { clock, budget } = budgetOf();
    const slots = ['a', 'b', 'c', 'd'].flatMap((origin) => Array.from({ length: 16 }, () => budget.start(origin)));
    assert.equal(budget.room().limit, 0);
    await clock.advance(999);
    assert.equal(budget.room().limit, 0);
    await clock.advance(1);
    const room = budget.room();
    assert.equal(room.limit, 64);
    assert.deepEqual(room.saturated_origins, ['a', 'b', 'c', 'd']);
    slots.forEach((slot) => slot.end());
    assert.equal(budget.free, 64);
  });

  it('shares the slow budget among the slow origins, and restores one that responds quickly again', async () => {
    const { clock, budget } = budgetOf({ slowTotal: 8 });
    const hang = (origin: string, count: number): Slot[] => Array.from({ length: count }, () => budget.start(origin));
    const slots = [...hang('a', 2), ...hang('b', 2), ...hang('c', 1), ...hang('d', 1)];
    await clock.advance(1000);
    // Four slow origins: at most two tries each, and those with more than one running are excluded.
    assert.deepEqual(budget.room(), { limit: 64, limit_per_origin: 1, saturated_origins: ['a', 'b'] });
    slots.forEach((slot) => slot.end());
    assert.equal(budget.room().saturated_origins.length, 0);
    budget.start('a').end();
    const [still] = hang('a', 1);
    assert.equal(budget.free, 63, 'a quick origin uses the quick budget again');
    still!.end();
  });

  it('keeps counting correctly when the slow budget is full', async () => {
    const { clock, budget } = budgetOf({ slowTotal: 4 });
    const slots = Array.from({ length: 16 }, () => budget.start('a'));
    await clock.advance(1000);
    assert.equal(budget.free, 64 - 12);
    assert.deepEqual(budget.room().saturated_origins, ['a']);
    slots.forEach((slot) => slot.end());
    assert.equal(budget.free, 64);
    assert.equal(clock.timers, 0);
  });

  it('does not remember every slow origin forever', async () => {
    const { clock, budget } = budgetOf({ total: 3000, slowTotal: 3000 });
    const slots = Array.from({ length: 3000 }, (_, n) => budget.start(`origin-${n}`));
    await clock.advance(1000);
    slots.forEach((slot) => slot.end());
    await clock.advance(0);
    // With no slow budget left, claims exclude the remembered slow origins.
    const fill = Array.from({ length: 3000 }, () => budget.start('origin-2999'));
    assert.ok(budget.room().saturated_origins.length <= 1001, `${budget.room().saturated_origins.length} remembered`);
    fill.forEach((slot) => slot.end());
  });
});
