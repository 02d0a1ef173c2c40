/** Marks (1) each range that shares bytes with another one. */
export function findOverlaps(offsets: readonly number[], ends: readonly number[]): Uint8Array {
  const marks = new Uint8Array(offsets.length);
  const order = Array.from(offsets, (_, i) => i).sort((a, b) => offsets[a]! - offsets[b]!);
  // The farthest-reaching of the ranges that began earlier.
  let farthest = -1;
  for (const i of order) {
    if (farthest >= 0 && offsets[i]! < ends[farthest]!) marks[i] = marks[farthest] = 1;
    if (farthest < 0 || ends[i]! > ends[farthest]!) farthest = i;
  }
  return marks;
}
