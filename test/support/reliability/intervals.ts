/** A time during which something was held; `amount` of it. */
export interface Interval {
  from: number;
  to: number;
  amount: number;
  what: string;
}

/**
 * The most that was held at one time. An interval that ends at the moment another begins does not overlap it: the end
 * may have made room for the other.
 */
export function peakOf(intervals: readonly Interval[]): { peak: number; at: number } {
  const events = intervals
    .filter(({ from, to }) => to > from)
    .flatMap(({ from, to, amount }) => [
      { at: from, change: amount },
      { at: to, change: -amount },
    ])
    .sort((a, b) => a.at - b.at || a.change - b.change);
  let held = 0;
  let found = { peak: 0, at: 0 };
  for (const { at, change } of events) {
    held += change;
    if (held > found.peak) found = { peak: held, at };
  }
  return found;
}

/** Groups by a key; items without one are left out. */
export function groupBy<T>(items: readonly T[], key: (item: T) => string | null): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    if (name === null) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}
