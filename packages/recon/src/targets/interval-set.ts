/** A set of numbers as ranges: its cost depends on the number of ranges, never on their size. */

/** Both ends are included. */
export interface Interval<T extends number | bigint> {
  readonly first: T;
  readonly last: T;
}

interface Arithmetic<T extends number | bigint> {
  readonly plus: (value: T, offset: number) => T;
  readonly count: (first: T, last: T) => number;
  /** Sum of all counts, which may exceed the range of numbers. */
  readonly total: (firsts: readonly T[], lasts: readonly T[]) => bigint;
  readonly sorted: (values: readonly T[]) => ArrayLike<T>;
}

const NUMBERS: Arithmetic<number> = {
  plus: (value, offset) => value + offset,
  count: (first, last) => last - first + 1,
  total: (firsts, lasts) => BigInt(firsts.reduce((sum, first, at) => sum + lasts[at]! - first + 1, 0)),
  // Sorted by the engine itself, without a call for each pair.
  sorted: (values) => Float64Array.from(values).sort(),
};

const BIGINTS: Arithmetic<bigint> = {
  plus: (value, offset) => value + BigInt(offset),
  count: (first, last) => Number(last - first + 1n),
  total: (firsts, lasts) => firsts.reduce((sum, first, at) => sum + lasts[at]! - first + 1n, 0n),
  sorted: (values) => [...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0)),
};

/** The ends of ranges: `firsts[n]` and `lasts[n]` delimit one. Stored as plain numbers, since there may be millions. */
interface Ends<T extends number | bigint> {
  readonly firsts: T[];
  readonly lasts: T[];
}

/** An immutable set of sorted, disjoint and merged ranges. */
export class IntervalSet<T extends number | bigint> {
  /** The number of values. */
  readonly count: bigint;
  readonly #firsts: readonly T[];
  readonly #lasts: readonly T[];
  readonly #arithmetic: Arithmetic<T>;
  /** Values before each range; computed on first use, and only for sets whose size is a safe number. */
  #offsets: readonly number[] | null = null;

  /** @param firsts starts of the ranges, in any order @param lasts their ends, in the same order */
  static numbers(firsts: readonly number[] = [], lasts: readonly number[] = []): IntervalSet<number> {
    return new IntervalSet(merged({ firsts, lasts }, NUMBERS), NUMBERS);
  }

  /** Like `numbers`. */
  static bigints(firsts: readonly bigint[] = [], lasts: readonly bigint[] = []): IntervalSet<bigint> {
    return new IntervalSet(merged({ firsts, lasts }, BIGINTS), BIGINTS);
  }

  private constructor({ firsts, lasts }: Ends<T>, arithmetic: Arithmetic<T>) {
    this.#firsts = firsts;
    this.#lasts = lasts;
    this.#arithmetic = arithmetic;
    this.count = arithmetic.total(firsts, lasts);
  }

  get intervals(): Interval<T>[] {
    return this.#firsts.map((first, at) => ({ first, last: this.#lasts[at]! }));
  }

  has(value: T): boolean {
    const at = lastNotAbove(this.#firsts, value);
    return at >= 0 && value <= this.#lasts[at]!;
  }

  /** Returns the value at an index, from 0; the index must be below the count, and the count at most 2^53. */
  at(index: number): T {
    if (this.#firsts.length === 1) return this.#arithmetic.plus(this.#firsts[0]!, index);
    const offsets = (this.#offsets ??= this.#counted());
    const at = lastNotAbove(offsets, index);
    return this.#arithmetic.plus(this.#firsts[at]!, index - offsets[at]!);
  }

  union(other: IntervalSet<T>): IntervalSet<T> {
    const ends = { firsts: this.#firsts.concat(other.#firsts), lasts: this.#lasts.concat(other.#lasts) };
    return new IntervalSet(merged(ends, this.#arithmetic), this.#arithmetic);
  }

  intersect(other: IntervalSet<T>): IntervalSet<T> {
    const common: Ends<T> = { firsts: [], lasts: [] };
    for (let [at, across] = [0, 0]; at < this.#firsts.length && across < other.#firsts.length;) {
      const first = this.#firsts[at]! > other.#firsts[across]! ? this.#firsts[at]! : other.#firsts[across]!;
      const isFirstOut = this.#lasts[at]! < other.#lasts[across]!;
      const last = isFirstOut ? this.#lasts[at]! : other.#lasts[across]!;
      if (first <= last) push(common, first, last);
      if (isFirstOut) at += 1;
      else across += 1;
    }
    return new IntervalSet(common, this.#arithmetic);
  }

  without(other: IntervalSet<T>): IntervalSet<T> {
    if (other.#firsts.length === 0) return this;
    const { plus } = this.#arithmetic;
    const left: Ends<T> = { firsts: [], lasts: [] };
    let hole = 0;
    for (let index = 0; index < this.#firsts.length; index += 1) {
      const last = this.#lasts[index]!;
      let from = this.#firsts[index]!;
      while (hole < other.#firsts.length && other.#lasts[hole]! < from) hole += 1;
      for (let at = hole; at < other.#firsts.length && other.#firsts[at]! <= last && from <= last; at += 1) {
        if (other.#firsts[at]! > from) push(left, from, plus(other.#firsts[at]!, -1));
        from = plus(other.#lasts[at]!, 1);
      }
      if (from <= last) push(left, from, last);
    }
    return new IntervalSet(left, this.#arithmetic);
  }

  #counted(): number[] {
    let before = 0;
    return this.#firsts.map((first, at) => {
      const offset = before;
      before += this.#arithmetic.count(first, this.#lasts[at]!);
      return offset;
    });
  }
}

/** Returns the index of the last element not above the value; -1 if all are. */
function lastNotAbove<T extends number | bigint>(sorted: readonly T[], value: T): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function push<T extends number | bigint>(ends: Ends<T>, first: T, last: T): void {
  ends.firsts.push(first);
  ends.lasts.push(last);
}

/**
 * Merges ranges. Starts and ends may be sorted separately: if the next start is above the end at the same index, as
 * many ranges have ended as begun, so none is open.
 */
function merged<T extends number | bigint>(
  ends: { firsts: readonly T[]; lasts: readonly T[] },
  { plus, sorted }: Arithmetic<T>,
): Ends<T> {
  const [firsts, lasts] = [sorted(ends.firsts), sorted(ends.lasts)];
  const joined: Ends<T> = { firsts: [], lasts: [] };
  for (let from = 0, at = 0; at < firsts.length; at += 1) {
    if (at + 1 < firsts.length && firsts[at + 1]! <= plus(lasts[at]!, 1)) continue;
    push(joined, firsts[from]!, lasts[at]!);
    from = at + 1;
  }
  return joined;
}
