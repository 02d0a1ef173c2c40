/** A set of numbers as the ranges that it consists of: what it costs depends on how many ranges, never on how wide they are. */

/** Both ends are part of it. */
export interface Interval<T extends number | bigint> {
  readonly first: T;
  readonly last: T;
}

interface Arithmetic<T extends number | bigint> {
  readonly plus: (value: T, offset: number) => T;
  readonly count: (first: T, last: T) => bigint;
}

const NUMBERS: Arithmetic<number> = {
  plus: (value, offset) => value + offset,
  count: (first, last) => BigInt(last - first) + 1n,
};

const BIGINTS: Arithmetic<bigint> = {
  plus: (value, offset) => value + BigInt(offset),
  count: (first, last) => last - first + 1n,
};

/** Sorted, disjoint and merged ranges; never changed. */
export class IntervalSet<T extends number | bigint> {
  /** How many values. */
  readonly count: bigint;
  readonly #firsts: readonly T[];
  readonly #lasts: readonly T[];
  readonly #arithmetic: Arithmetic<T>;
  /** Values before each range; made when first asked for, and only for sets that numbers can count. */
  #offsets: readonly number[] | null = null;

  static numbers(intervals: readonly Interval<number>[] = []): IntervalSet<number> {
    return new IntervalSet(merged(intervals, NUMBERS), NUMBERS);
  }

  static bigints(intervals: readonly Interval<bigint>[] = []): IntervalSet<bigint> {
    return new IntervalSet(merged(intervals, BIGINTS), BIGINTS);
  }

  private constructor(sorted: readonly Interval<T>[], arithmetic: Arithmetic<T>) {
    this.#firsts = sorted.map(({ first }) => first);
    this.#lasts = sorted.map(({ last }) => last);
    this.#arithmetic = arithmetic;
    this.count = sorted.reduce((sum, { first, last }) => sum + arithmetic.count(first, last), 0n);
  }

  get intervals(): Interval<T>[] {
    return this.#firsts.map((first, at) => ({ first, last: this.#lasts[at]! }));
  }

  has(value: T): boolean {
    const at = lastNotAbove(this.#firsts, value);
    return at >= 0 && value <= this.#lasts[at]!;
  }

  /** The value at an index, from 0; the caller keeps within the count, and the count within 2^53. */
  at(index: number): T {
    if (this.#firsts.length === 1) return this.#arithmetic.plus(this.#firsts[0]!, index);
    const offsets = (this.#offsets ??= this.#counted());
    const at = lastNotAbove(offsets, index);
    return this.#arithmetic.plus(this.#firsts[at]!, index - offsets[at]!);
  }

  union(other: IntervalSet<T>): IntervalSet<T> {
    return new IntervalSet(merged([...this.intervals, ...other.intervals], this.#arithmetic), this.#arithmetic);
  }

  intersect(other: IntervalSet<T>): IntervalSet<T> {
    const [left, right] = [this.intervals, other.intervals];
    const common: Interval<T>[] = [];
    for (let [at, across] = [0, 0]; at < left.length && across < right.length;) {
      const [one, two] = [left[at]!, right[across]!];
      const first = one.first > two.first ? one.first : two.first;
      const last = one.last < two.last ? one.last : two.last;
      if (first <= last) common.push({ first, last });
      if (one.last < two.last) at += 1;
      else across += 1;
    }
    return new IntervalSet(common, this.#arithmetic);
  }

  without(other: IntervalSet<T>): IntervalSet<T> {
    const { plus } = this.#arithmetic;
    const holes = other.intervals;
    const left: Interval<T>[] = [];
    let hole = 0;
    for (const { first, last } of this.intervals) {
      let from = first;
      while (hole < holes.length && holes[hole]!.last < from) hole += 1;
      for (let at = hole; at < holes.length && holes[at]!.first <= last && from <= last; at += 1) {
        if (holes[at]!.first > from) left.push({ first: from, last: plus(holes[at]!.first, -1) });
        from = plus(holes[at]!.last, 1);
      }
      if (from <= last) left.push({ first: from, last });
    }
    return new IntervalSet(left, this.#arithmetic);
  }

  #counted(): number[] {
    let before = 0;
    return this.#firsts.map((first, at) => {
      const offset = before;
      before += Number(this.#arithmetic.count(first, this.#lasts[at]!));
      return offset;
    });
  }
}

/** The index of the last element that is not above the value; -1 where all are. */
function lastNotAbove<T extends number | bigint>(sorted: readonly T[], value: T): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function merged<T extends number | bigint>(intervals: readonly Interval<T>[], { plus }: Arithmetic<T>): Interval<T>[] {
  const sorted = [...intervals].sort((left, right) =>
    left.first < right.first ? -1 : left.first > right.first ? 1 : 0,
  );
  const joined: { first: T; last: T }[] = [];
  for (const { first, last } of sorted) {
    const before = joined.at(-1);
    if (before === undefined || first > plus(before.last, 1)) joined.push({ first, last });
    else if (last > before.last) before.last = last;
  }
  return joined;
}
