import type { Clock } from '@heddle/base/clock';

/**
 * Returns the result of `work`, or rejects after `ms`. A late result is dropped, so `work` must be safe to repeat.
 */
export async function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => late.reject(new Error(`${what} did not answer within ${ms / 1_000} s`)));
  // Once the race is lost, no one handles this rejection.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
