import type { Clock } from './clock.ts';

/** Waits up to `ms` for work that may go on after that; returns whether it finished in time. */
export async function finishesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const finished = new AbortController();
  try {
    return await Promise.race([work.then(() => true), clock.sleep(ms, finished.signal).then(() => false)]);
  } finally {
    finished.abort();
  }
}
