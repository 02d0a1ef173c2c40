import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { IntervalSet, type Interval } from '../../src/targets/interval-set.ts';

const WIDTH = 60;

const interval = fc.tuple(fc.nat(WIDTH), fc.nat(WIDTH)).map(([one, two]) => {
  return { first: Math.min(one, two), last: Math.max(one, two) };
});
const intervals = fc.array(interval, { maxLength: 8 });

function valuesOf(list: readonly Interval<number>[]): Set<number> {
  const all = Array.from({ length: WIDTH + 1 }, (_, value) => value);
  return new Set(all.filter((value) => list.some(({ first, last }) => value >= first && value <= last)));
}

function listed(set: IntervalSet<number> | IntervalSet<bigint>): number[] {
  return Array.from({ length: Number(set.count) }, (_, index) => Number(set.at(index)));
}

const ends = <T>(list: readonly { first: T; last: T }[]): [T[], T[]] => [
  list.map(({ first }) => first),
  list.map(({ last }) => last),
];
const numbers = (list: readonly Interval<number>[]): IntervalSet<number> => IntervalSet.numbers(...ends(list));
const bigints = (list: readonly Interval<bigint>[]): IntervalSet<bigint> => IntervalSet.bigints(...ends(list));

const ascending = (values: Iterable<number>): number[] => [...values].sort((left, right) => left - right);

test('counts, members, indexes and set operations match those of enumerated numbers', () => {
  fc.assert(
    fc.property(intervals, intervals, (left, right) => {
      const [one, two] = [numbers(left), numbers(right)];
      const [a, b] = [valuesOf(left), valuesOf(right)];
      assert.deepEqual(listed(one), ascending(a));
      assert.deepEqual(listed(one.without(two)), ascending([...a].filter((value) => !b.has(value))));
      assert.deepEqual(listed(one.intersect(two)), ascending([...a].filter((value) => b.has(value))));
      assert.deepEqual(listed(one.union(two)), ascending(new Set([...a, ...b])));
      for (let value = 0; value <= WIDTH; value += 1) assert.equal(one.has(value), a.has(value));
    }),
  );
});

test('the same with BigInt, beyond the range of safe numbers', () => {
  const base = 2n ** 127n;
  const lift = ({ first, last }: Interval<number>): Interval<bigint> => {
    return { first: base + BigInt(first), last: base + BigInt(last) };
  };
  fc.assert(
    fc.property(intervals, intervals, (left, right) => {
      const one = bigints(left.map(lift)).without(bigints(right.map(lift)));
      const shown = Array.from({ length: Number(one.count) }, (_, index) => Number(one.at(index) - base));
      assert.deepEqual(shown, listed(numbers(left).without(numbers(right))));
    }),
  );
});
