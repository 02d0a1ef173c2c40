import { backoffMs, type BackoffPolicy } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export interface RetryOptions {
  policy: BackoffPolicy;
  clock: Clock;
  random: Random;
  /** Ends the pauses and the retries. */
  signal: AbortSignal;
  /** Called for each failure, the first with 1; false ends the retries. */
  mayRetry: (error: unknown, retry: number) => boolean;
}

/**
 * Repeats work that fails, with the pauses of the policy.
 * @throws the last error if it may not be retried, or the signal has aborted
 */
export async function retrying<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { policy, clock, random, signal, mayRetry } = options;
  const mayGoOn = (): boolean => !signal.aborted;
  const retryAfter = async (error: unknown, retry: number): Promise<boolean> => {
    if (!mayGoOn() || !mayRetry(error, retry)) return false;
    const pauseMs = backoffMs(policy, retry, () => random.next());
    await clock.sleep(pauseMs, signal);
    return mayGoOn();
  };
  for (let retry = 1; ; retry += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(await retryAfter(error, retry))) throw error;
    }
  }
}
