/** The middle of the values, or the mean of the two middle ones. At least one value. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** An interval that holds the true median of what was measured with this confidence, between 0 and 1. */
export interface MedianInterval {
  low: number;
  high: number;
  confidence: number;
}

/**
 * The narrowest interval between two of the values that holds the median with at least `wanted` confidence, or all of
 * them. It follows from the order of the values alone, whatever they are distributed like: the median is outside of it
 * only if nearly all values happen to be on one side.
 */
export function medianInterval(values: readonly number[], wanted = 0.9): MedianInterval {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  // The probability that at most `skipped` of the values are below the median.
  let tail = 0.5 ** count;
  let term = tail;
  let skipped = 0;
  for (let next = 1; next < count / 2; next += 1) {
    term = (term * (count - next + 1)) / next;
    if (1 - 2 * (tail + term) < wanted) break;
    tail += term;
    skipped = next;
  }
  return { low: sorted[skipped]!, high: sorted[count - 1 - skipped]!, confidence: 1 - 2 * tail };
}

/** Nearest-rank percentile; `share` between 0 and 1. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) throw new Error('percentile of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!;
}

/** `count` in `elapsedMs`, as a rate per second. */
export function perSecond(count: number, elapsedMs: number): number {
  return (count * 1000) / elapsedMs;
}
