/**
 * Upper bounds of the buckets of waits, ms: 1, 2 and 5 of each power of ten. The last bucket has no bound. Stored arrays
 * depend on the order: add bounds only at the end.
 */
const BOUNDS_MS = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power));

export const WAIT_BUCKETS = BOUNDS_MS.length + 1;

export function bucketOfWait(ms: number): number {
  let bucket = 0;
  while (bucket < BOUNDS_MS.length && ms > BOUNDS_MS[bucket]!) bucket += 1;
  return bucket;
}

/** Returns the wait that this share of the tasks did not exceed, ms, interpolated within its bucket; null without tasks. */
export function waitQuantile(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let before = 0;
  for (const [bucket, count] of buckets.entries()) {
    if (count > 0 && before + count >= rank) {
      const from = bucket === 0 ? 0 : BOUNDS_MS[bucket - 1]!;
      const to = BOUNDS_MS[bucket] ?? from;
      return Math.round((from + ((to - from) * (rank - before)) / count) * 10) / 10;
    }
    before += count;
  }
  return BOUNDS_MS.at(-1)!;
}
