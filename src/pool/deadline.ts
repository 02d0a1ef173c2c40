import type { Clock } from '../runtime/clock.ts';

/**
 * What `work` comes to, or a rejection where that takes longer than `ms`. What comes later is dropped, so `work` must be
 * one that may be done again.
 */
export async function within<T>(clock: Clock, ms: number, what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(ms, () => late.reject(new Error(`${what} has not answered within ${ms / 1_000} s`)));
  // Whichever loses the race is nobody's to wait for.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
