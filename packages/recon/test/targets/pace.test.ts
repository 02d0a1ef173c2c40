import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import fc from 'fast-check';

import { burstOf, createPace } from '../../src/targets/pace.ts';
import { VirtualClock } from '@heddle/base/clock';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const rates = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.constantFrom(1000, 10_000, 150_000));

/** Checks every window, counted between every two packets. */
function assertWithin(timesMs: readonly number[], rate: number, what: string): void {
  for (let first = 0; first < timesMs.length; first += 1) {
    for (let last = first; last < timesMs.length; last += 7) {
      const allowed = burstOf(rate) + ((timesMs[last]! - timesMs[first]!) * rate) / 1000;
      assert.ok(
        last - first + 1 <= allowed + 1e-6 + 1e-9 * last,
        `${what}: ${last - first + 1} packets, ${allowed} allowed`,
      );
    }
  }
}

test('no window exceeds the rate and one burst, in total and for each host', async () => {
  const steps = fc.array(fc.record({ waitMs: fc.double({ min: 0, max: 40, noNaN: true }), tries: fc.nat(60) }), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(rates, rates, steps, async (rate, hostRate, list) => {
      const clock = new VirtualClock();
      const pace = createPace({ clock, rate, hostRate });
      const sent: number[] = [];
      const byHost = new Map<string, number[]>();
      for (const { waitMs, tries } of list) {
        await clock.advance(waitMs);
        for (let attempt = 0; attempt < tries; attempt += 1) {
          const host = `10.0.0.${attempt % 3}`;
          if (pace.take(host) > 0) continue;
          sent.push(clock.monotonic());
          byHost.set(host, [...(byHost.get(host) ?? []), clock.monotonic()]);
        }
      }
      assertWithin(sent, rate, `rate ${rate}`);
      for (const [host, times] of byHost) assertWithin(times, hostRate, `${host} at ${hostRate}`);
    }),
    { numRuns: 100 },
  );
});

test('a client that waits as advised gets the whole rate', async () => {
  for (const [rate, hostRate] of [
    [100, Infinity],
    [Infinity, 100],
    [1000, 1000],
    [37, 1000],
  ] as const) {
    const clock = new VirtualClock();
    const pace = createPace({ clock, rate, hostRate });
    let sent = 0;
    for (const startMs = clock.monotonic(); clock.monotonic() - startMs < 10_000;) {
      const waitMs = pace.take('10.0.0.1');
      if (waitMs === 0) sent += 1;
      else await clock.advance(waitMs);
    }
    const limit = Math.min(rate, hostRate);
    assert.ok(sent >= limit * 10 - 1 && sent <= limit * 10 + burstOf(limit), `${sent} at ${limit}/s`);
  }
});

test('a host at its limit does not take from the others', async () => {
  const clock = new VirtualClock();
  const pace = createPace({ clock, rate: 1000, hostRate: 1 });
  assert.equal(pace.take('10.0.0.1'), 0);
  assert.ok(Math.abs(pace.take('10.0.0.1') - 1000) < 1e-6);
  assert.equal(pace.available(100), 15, 'tokens refused to a host remain');
  assert.equal(pace.take('10.0.0.2'), 0);
  await clock.advance(1000);
  assert.equal(pace.take('10.0.0.1'), 0);
});

test('without limits nothing waits; available never exceeds the request', () => {
  const pace = createPace({ clock: new VirtualClock(), rate: Infinity, hostRate: Infinity });
  for (let packet = 0; packet < 10_000; packet += 1) assert.equal(pace.take('10.0.0.1'), 0);
  assert.equal(pace.available(512), 512);
  assert.equal(pace.rate, Infinity);
});

test('a million hosts leave no buckets behind', async () => {
  const clock = new VirtualClock();
  const pace = createPace({ clock, rate: Infinity, hostRate: 1000 });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let step = 0; step < 1000; step += 1) {
    for (let host = 0; host < 1000; host += 1) assert.equal(pace.take(`10.${step}.${host >> 8}.${host & 255}`), 0);
    await clock.advance(10);
  }
  collectGarbage();
  assert.ok(process.memoryUsage().heapUsed - before < 20_000_000);
});

test('a rate of zero is a defect of the caller', () => {
  for (const rate of [0, -1, Number.NaN]) {
    assert.throws(() => createPace({ clock: new VirtualClock(), rate, hostRate: 1 }), RangeError);
    assert.throws(() => createPace({ clock: new VirtualClock(), rate: 1, hostRate: rate }), RangeError);
  }
});
