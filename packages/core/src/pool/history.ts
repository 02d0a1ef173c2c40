import type { PoolContext } from './context.ts';
import type { PoolSample } from './port/history.ts';

const SAMPLES_MAX = 20_000;

/** Records a sample of the pool for this minute; a second call in the same minute changes nothing. */
export async function sampleOnce({ history }: PoolContext): Promise<void> {
  await history?.sample();
}

/** Returns the samples of the last `sinceMs` milliseconds, oldest first. */
export async function historyOf({ history, clock }: PoolContext, sinceMs: number): Promise<PoolSample[]> {
  return history === undefined ? [] : history.samples(clock.now() - sinceMs, SAMPLES_MAX);
}
