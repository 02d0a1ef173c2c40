export interface BackoffPolicy {
  base_ms: number;
  factor: number;
  max_ms: number;
  /** 0: none; 1: the wait is drawn from zero up to the full length. */
  jitter: number;
}

/**
 * Returns the wait before a retry, milliseconds: `min(base * factor^(retry - 1), max)`, less a random part of it.
 *
 * @param retry 1 for the first retry
 * @param random uniform in [0, 1)
 */
export function backoffMs(policy: BackoffPolicy, retry: number, random: () => number): number {
  if (retry < 1) throw new RangeError(`backoff: retry counts from 1, not ${retry}`);
  const grownMs = policy.base_ms * policy.factor ** (retry - 1);
  // A base of zero times an overflowed factor is NaN, which means no wait.
  const wholeMs = Number.isNaN(grownMs) ? 0 : Math.min(grownMs, policy.max_ms);
  return Math.round(wholeMs * (1 - policy.jitter * random()));
}
