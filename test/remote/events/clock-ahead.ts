import { type Clock, systemClock } from '../../../src/runtime/clock.ts';

/** Durations are so much ahead of the real ones; timers stay real, so that processes and networks have their time. */
export function clockAhead(aheadMs: () => number): Clock {
  return { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs() };
}

/** The same, and counts the waits of the loop that sweeps idle code: each is the end of a sweep. */
export function sweptClock(aheadMs: () => number): { clock: Clock; sweeps: () => number } {
  let sweeps = 0;
  const sleep: Clock['sleep'] = (ms, signal) => {
    sweeps += 1;
    return systemClock.sleep(ms, signal);
  };
  return { clock: { ...clockAhead(aheadMs), sleep }, sweeps: () => sweeps };
}
