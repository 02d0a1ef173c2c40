import type { PoolContext } from './context.ts';
import type { PoolSample } from './port/history.ts';

const SAMPLES_MAX = 20_000;

/** Notes how the pool stands in this minute; whoever comes second changes nothing. */
export async function sampleOnce({ history }: PoolContext): Promise<void> {
  await history?.sample();
}

/** Samples of the last so many milliseconds, oldest first. */
export async function historyOf({ history, clock }: PoolContext, sinceMs: number): Promise<PoolSample[]> {
  return history === undefined ? [] : history.samples(clock.now() - sinceMs, SAMPLES_MAX);
}
