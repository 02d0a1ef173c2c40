import assert from 'node:assert/strict';
import { test } from 'node:test';

import { systemClock, VirtualClock } from '../src/clock.ts';

test('a virtual clock stands still and runs due timers in order of time, then of creation', async () => {
  const clock = new VirtualClock(1_000);
  const seen: string[] = [];
  clock.after(20, () => seen.push(`c@${clock.now()}`));
  clock.after(10, () => seen.push(`a@${clock.now()}`));
  clock.after(10, () => seen.push(`b@${clock.now()}`));
  assert.equal(clock.now(), 1_000);
  await clock.advance(9);
  assert.deepEqual(seen, []);
  await clock.advance(11);
  assert.deepEqual(seen, ['a@1010', 'b@1010', 'c@1020']);
  assert.equal(clock.now(), 1_020);
  assert.equal(clock.monotonic(), 20);
});

test('a virtual clock runs the timers that timers and sleepers start on the way', async () => {
  const clock = new VirtualClock();
  const start = clock.now();
  const seen: number[] = [];
  const sleeper = (async () => {
    for (let round = 0; round < 3; round += 1) {
      await clock.sleep(10);
      seen.push(clock.now() - start);
    }
  })();
  await clock.advance(100);
  await sleeper;
  assert.deepEqual(seen, [10, 20, 30]);
});

test('a cancelled timer of a virtual clock never runs', async () => {
  const clock = new VirtualClock();
  const cancel = clock.after(10, () => assert.fail('ran'));
  cancel();
  await clock.advance(100);
  assert.equal(clock.timers, 0);
});

for (const [name, clock] of [
  ['system', systemClock],
  ['virtual', new VirtualClock()],
] as const) {
  test(`sleep of the ${name} clock resolves early, without throwing, when its signal aborts`, async () => {
    const stop = new AbortController();
    const slept = clock.sleep(3_600_000, stop.signal);
    stop.abort();
    await slept;
    await clock.sleep(3_600_000, stop.signal);
  });
}

test('an aborted sleep leaves no timer and no listener behind', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const slept = clock.sleep(1_000, stop.signal);
  stop.abort();
  await slept;
  assert.equal(clock.timers, 0);
});

test('the system clock sleeps for as long as asked', async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(20); // fixed wait: the length of the sleep is what is tested
  // Node's timers may fire up to a millisecond early by this clock.
  assert.ok(systemClock.monotonic() - before >= 19);
});

test('a wait beyond what one timer of Node can hold does not fire at once, and a cancelled one never', async () => {
  const tooLong = systemClock.after(2 ** 31 + 1_000, () => assert.fail('the long one ran'));
  const cancelled = systemClock.after(1, () => assert.fail('the cancelled one ran'));
  cancelled();
  // A later timer is the signal that the earlier ones would have fired; it is held by the sleep beside it.
  const later = new Promise<void>((resolve) => systemClock.after(10, resolve));
  await Promise.all([later, systemClock.sleep(20)]); // fixed wait: timers of this kind do not keep the process alive
  tooLong();
});

test('such a wait ends after its whole length', (t) => {
  // Node's own timers on a virtual time: no one can wait 25 days for a test.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const longestMs = 2 ** 31 - 1;
  let ran = 0;
  systemClock.after(longestMs + 1_000, () => (ran += 1));
  t.mock.timers.tick(longestMs);
  t.mock.timers.tick(999);
  assert.equal(ran, 0);
  t.mock.timers.tick(1);
  assert.equal(ran, 1);
});
