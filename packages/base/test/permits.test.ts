import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import fc from 'fast-check';

import { Permits, type Permit } from '../src/permits.ts';

test('tryAcquire never waits: null when fewer slots are free than asked for', () => {
  const permits = new Permits(3);
  const two = permits.tryAcquire(2);
  assert.ok(two);
  assert.equal(permits.tryAcquire(2), null);
  assert.equal(permits.free, 1);
  two.release();
  assert.equal(permits.free, 3);
});

test('a second release throws and gives nothing back', () => {
  const permits = new Permits(1);
  const permit = permits.tryAcquire()!;
  permit.release();
  assert.throws(() => permit.release(), /released already/);
  assert.equal(permits.free, 1);
});

test('using releases at the end of the block', () => {
  const permits = new Permits(1);
  {
    using permit = permits.tryAcquire()!;
    assert.ok(permit);
    assert.equal(permits.free, 0);
  }
  assert.equal(permits.free, 1);
});

test('waiters are served in order of arrival', async () => {
  const permits = new Permits(1);
  const first = permits.tryAcquire()!;
  const order: number[] = [];
  const waiters = [1, 2, 3].map(async (waiter) => {
    const permit = await permits.acquire();
    order.push(waiter);
    permit.release();
  });
  first.release();
  await Promise.all(waiters);
  assert.deepEqual(order, [1, 2, 3]);
  assert.equal(permits.free, 1);
});

test('an aborted wait rejects with the reason of the signal and leaks nothing', async () => {
  const permits = new Permits(1);
  const held = permits.tryAcquire()!;
  const stop = new AbortController();
  const reason = new Error('stopping');
  const waiting = permits.acquire(stop.signal);
  const behind = permits.acquire();
  stop.abort(reason);
  await assert.rejects(waiting, reason);
  await assert.rejects(permits.acquire(stop.signal), reason);
  held.release();
  (await behind).release();
  assert.equal(permits.free, 1);
  assert.equal(permits.waiting, 0);
});

test('an abort after the grant changes nothing', async () => {
  const permits = new Permits(1);
  const held = permits.tryAcquire()!;
  const stop = new AbortController();
  const waiting = permits.acquire(stop.signal);
  held.release();
  stop.abort();
  (await waiting).release();
  assert.equal(permits.free, 1);
});

test('nonsense is refused', () => {
  for (const total of [0, -1, 1.5, Number.NaN]) assert.throws(() => new Permits(total), RangeError);
  for (const n of [0, -1, 1.5]) assert.throws(() => new Permits(2).tryAcquire(n), RangeError);
});

type Step = { do: 'try'; n: number } | { do: 'acquire' } | { do: 'release'; at: number } | { do: 'abort'; at: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('try' as const), n: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('acquire' as const) }),
    fc.record({ do: fc.constant('release' as const), at: fc.nat(20) }),
    fc.record({ do: fc.constant('abort' as const), at: fc.nat(20) }),
  ),
  { maxLength: 60 },
);

test('whatever the order of steps, no more than the total is in use and all of it comes back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), steps, async (total, plan) => {
      const permits = new Permits(total);
      const held: { permit: Permit; n: number }[] = [];
      const waits: { stop: AbortController; done: Promise<void> }[] = [];
      const check = (): void => {
        const used = held.reduce((sum, entry) => sum + entry.n, 0);
        assert.ok(used <= total);
        assert.equal(permits.free, total - used);
        assert.ok(permits.waiting === 0 || permits.free === 0, 'a waiter and a free slot at once');
      };
      for (const step of plan) {
        if (step.do === 'try') {
          const permit = permits.tryAcquire(step.n);
          if (permit !== null) held.push({ permit, n: step.n });
        } else if (step.do === 'acquire') {
          const stop = new AbortController();
          const done = permits.acquire(stop.signal).then(
            (permit) => void held.push({ permit, n: 1 }),
            () => undefined,
          );
          waits.push({ stop, done });
        } else if (step.do === 'release' && held.length > 0) {
          held.splice(step.at % held.length, 1)[0]!.permit.release();
        } else if (step.do === 'abort' && waits.length > 0) {
          waits[step.at % waits.length]!.stop.abort();
        }
        await eventLoopTurn();
        check();
      }
      for (const wait of waits) wait.stop.abort();
      await Promise.all(waits.map((wait) => wait.done));
      for (const entry of held) entry.permit.release();
      assert.equal(permits.free, total);
      assert.equal(permits.waiting, 0);
    }),
    { numRuns: 150 },
  );
});
