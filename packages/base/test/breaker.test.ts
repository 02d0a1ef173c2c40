import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { HeddleError } from '../src/errors.ts';
import { CircuitBreaker, type BreakerOptions, type BreakerState } from '../src/breaker.ts';
import { VirtualClock } from '../src/clock.ts';

const down = new Error('connection refused');
const isFailure = (error: unknown): boolean => error === down;

function breakerOf(clock: VirtualClock, more: Partial<BreakerOptions> = {}): CircuitBreaker {
  return new CircuitBreaker({
    enabled: true,
    failureThreshold: 3,
    failureWindowMs: 10_000,
    recoveryTimeoutMs: 30_000,
    successThreshold: 2,
    clock,
    ...more,
  });
}

async function attempt(breaker: CircuitBreaker, error?: Error): Promise<'ran' | 'refused'> {
  const calls: string[] = [];
  await breaker
    .run(() => {
      calls.push('ran');
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    }, isFailure)
    .catch(() => undefined);
  return calls.length > 0 ? 'ran' : 'refused';
}

async function open(breaker: CircuitBreaker): Promise<void> {
  for (let failure = 0; failure < 3; failure += 1) await attempt(breaker, down);
  assert.equal(breaker.state, 'open');
}

test('it opens, refuses with the seconds to wait, lets probes through after the recovery time, and closes', async () => {
  const clock = new VirtualClock();
  const transitions: BreakerState[] = [];
  let rejections = 0;
  const breaker = breakerOf(clock, {
    onTransition: (to) => void transitions.push(to),
    onRejection: () => void (rejections += 1),
  });
  await open(breaker);
  await clock.advance(500);
  await assert.rejects(
    breaker.run(() => Promise.resolve(1), isFailure),
    (error) => error instanceof HeddleError && error.code === 'DATABASE_UNAVAILABLE' && error.retryAfterSecs === 30,
  );
  await clock.advance(29_500);
  assert.equal(await attempt(breaker), 'ran');
  assert.equal(breaker.state, 'half_open');
  assert.equal(await attempt(breaker), 'ran');
  assert.equal(breaker.state, 'closed');
  assert.deepEqual(transitions, ['open', 'half_open', 'closed']);
  assert.equal(rejections, 1);
});

test('failures spread wider than the window do not open it', async () => {
  const clock = new VirtualClock();
  const breaker = breakerOf(clock);
  for (let failure = 0; failure < 20; failure += 1) {
    await attempt(breaker, down);
    await clock.advance(5_000);
  }
  assert.equal(breaker.state, 'closed');
});

test('errors that do not speak against the resource do not count, and heal a half open breaker', async () => {
  const clock = new VirtualClock();
  const breaker = breakerOf(clock);
  for (let round = 0; round < 10; round += 1) await attempt(breaker, new Error('duplicate key'));
  assert.equal(breaker.state, 'closed');
  await open(breaker);
  await clock.advance(30_000);
  await attempt(breaker, new Error('duplicate key'));
  await attempt(breaker, new Error('duplicate key'));
  assert.equal(breaker.state, 'closed');
});

test('half open, one probe runs at a time, and a failed one opens again for the whole recovery time', async () => {
  const clock = new VirtualClock();
  const breaker = breakerOf(clock);
  await open(breaker);
  await clock.advance(30_000);
  const probe = Promise.withResolvers<undefined>();
  const probing = breaker.run(() => probe.promise, isFailure);
  assert.equal(await attempt(breaker), 'refused');
  probe.reject(down);
  await assert.rejects(probing, down);
  assert.equal(breaker.state, 'open');
  await clock.advance(29_999);
  assert.equal(await attempt(breaker), 'refused');
  await clock.advance(1);
  assert.equal(await attempt(breaker), 'ran');
});

test('a straggler from before the opening neither closes nor opens a half open breaker', async () => {
  const clock = new VirtualClock();
  const breaker = breakerOf(clock, { successThreshold: 1 });
  const good = Promise.withResolvers<undefined>();
  const bad = Promise.withResolvers<undefined>();
  const stragglers = [breaker.run(() => good.promise, isFailure), breaker.run(() => bad.promise, isFailure)];
  await open(breaker);
  await clock.advance(30_000);
  const probe = Promise.withResolvers<undefined>();
  const probing = breaker.run(() => probe.promise, isFailure);
  good.resolve(undefined);
  bad.reject(down);
  await Promise.allSettled(stragglers);
  assert.equal(breaker.state, 'half_open');
  probe.resolve(undefined);
  await probing;
  assert.equal(breaker.state, 'closed');
});

test('work that throws before its promise counts like any other', async () => {
  const breaker = breakerOf(new VirtualClock(), { failureThreshold: 1 });
  const work = (): Promise<void> => {
    throw down;
  };
  await assert.rejects(breaker.run(work, isFailure), down);
  assert.equal(breaker.state, 'open');
});

test('disabled it lets everything through', async () => {
  const breaker = breakerOf(new VirtualClock(), { enabled: false });
  for (let round = 0; round < 20; round += 1) assert.equal(await attempt(breaker, down), 'ran');
  assert.equal(breaker.state, 'closed');
});

/** What the breaker must do, written as a plain table of its three states; times are absolute milliseconds. */
class Model {
  state: BreakerState = 'closed';
  failures: number[] = [];
  openedAt = 0;
  successes = 0;

  step(now: number, fails: boolean): 'ran' | 'refused' {
    if (this.state === 'open') {
      if (now - this.openedAt < 300) return 'refused';
      this.state = 'half_open';
      this.successes = 0;
    }
    if (this.state === 'half_open') {
      if (fails) this.open(now);
      else if (++this.successes === 2) this.state = 'closed';
    } else if (fails) {
      this.failures.push(now);
      if (this.failures.filter((at) => now - at < 100).length >= 3) this.open(now);
    }
    return 'ran';
  }

  open(now: number): void {
    this.state = 'open';
    this.openedAt = now;
    this.failures = [];
  }
}

test('any sequence of calls and waits moves it as the model says', async () => {
  const step = fc.record({ waitMs: fc.constantFrom(0, 10, 49, 50, 99, 100, 299, 300), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (plan) => {
      const clock = new VirtualClock(0);
      const breaker = breakerOf(clock, { failureWindowMs: 100, recoveryTimeoutMs: 300 });
      const model = new Model();
      for (const { waitMs, fails } of plan) {
        if (waitMs > 0) await clock.advance(waitMs);
        const expected = model.step(clock.now(), fails);
        assert.equal(await attempt(breaker, fails ? down : undefined), expected);
        assert.equal(breaker.state, model.state);
      }
    }),
    { numRuns: 200 },
  );
});
