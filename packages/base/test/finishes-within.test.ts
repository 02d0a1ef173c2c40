import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '../src/clock.ts';
import { finishesWithin } from '../src/finishes-within.ts';

test('work that finishes in time leaves no timer behind', async () => {
  const clock = new VirtualClock();
  assert.equal(await finishesWithin(clock, 1000, Promise.resolve('done')), true);
  assert.equal(clock.timers, 0);
});

test('work that takes longer is reported as late', async () => {
  const clock = new VirtualClock();
  const late = finishesWithin(clock, 1000, new Promise(() => undefined));
  await clock.advance(1000);
  assert.equal(await late, false);
});

test('work that fails rejects', async () => {
  const clock = new VirtualClock();
  await assert.rejects(finishesWithin(clock, 1000, Promise.reject(new Error('no'))), /no/);
});
