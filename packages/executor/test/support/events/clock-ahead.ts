import { type Clock, systemClock } from '@heddle/base/clock';

/** Durations are ahead of real time by this much; timers stay real, so that processes and networks work. */
export function clockAhead(aheadMs: () => number): Clock {
  return { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs() };
}

/** Also counts the waits of the eviction loop, each of which marks the end of a sweep. */
export function sweptClock(aheadMs: () => number): { clock: Clock; sweeps: () => number } {
  let sweeps = 0;
  const sleep: Clock['sleep'] = (ms, signal) => {
    sweeps += 1;
    return systemClock.sleep(ms, signal);
  };
  return { clock: { ...clockAhead(aheadMs), sleep }, sweeps: () => sweeps };
}
