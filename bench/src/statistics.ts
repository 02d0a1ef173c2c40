/** The middle of the values, or the mean of the two middle ones. At least one value. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
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
