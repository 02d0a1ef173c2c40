import assert from 'node:assert/strict';

import type { VirtualClock } from '@heddle/base/clock';

const STEP_MS = 500;
const STEPS_MAX = 4000;

/** Advances virtual time until the work is done. */
export async function drive<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  const state = { over: false };
  const done = work.finally(() => (state.over = true));
  // The caller handles the rejection.
  done.catch(() => undefined);
  for (let step = 0; step < STEPS_MAX && !state.over; step += 1) await clock.advance(STEP_MS);
  assert.ok(state.over, 'it never ended');
  return done;
}
