import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { Permutation } from '../../src/targets/permutation.ts';

const orderOf = (size: number, seed: number, purpose = 0): number[] => {
  const permutation = new Permutation(size, seed, purpose);
  return Array.from({ length: size }, (_, index) => permutation.at(index));
};

test('each number below the size occurs exactly once, for any size and seed', () => {
  fc.assert(
    fc.property(fc.nat(3000), fc.maxSafeInteger(), (size, seed) => {
      const seen = new Set(orderOf(size, seed));
      assert.equal(seen.size, size);
      assert.ok([...seen].every((value) => Number.isInteger(value) && value >= 0 && value < size));
    }),
  );
});

test('up to 2^53 it stays within the size, and different indexes map to different numbers', () => {
  const size = fc.oneof(fc.integer({ min: 2 ** 40, max: 2 ** 53 - 1 }), fc.constant(2 ** 53));
  fc.assert(
    fc.property(size, fc.maxSafeInteger(), fc.double({ min: 0, max: 1, noNaN: true }), (count, seed, share) => {
      const permutation = new Permutation(count, seed);
      const from = Math.floor((count - 2000) * share);
      const places = Array.from({ length: 2000 }, (_, offset) => permutation.at(from + offset));
      assert.equal(new Set(places).size, places.length);
      assert.ok(places.every((place) => Number.isSafeInteger(place) && place >= 0 && place < count));
    }),
    { numRuns: 50 },
  );
});

test('the same seed gives the same order; another seed or purpose gives another', () => {
  assert.deepEqual(orderOf(500, 7), orderOf(500, 7));
  const orders = [orderOf(500, 7), orderOf(500, 8), orderOf(500, -7), orderOf(500, 7 + 2 ** 40), orderOf(500, 7, 1)];
  assert.equal(new Set(orders.map((order) => order.join())).size, orders.length);
});

test('no network is visited in order: successors are scattered', () => {
  const size = 2 ** 24;
  const permutation = new Permutation(size, 1);
  const networks = new Map<number, number>();
  let near = 0;
  let before = -1;
  for (let index = 0; index < 25_600; index += 1) {
    const place = permutation.at(index);
    if (before >= 0 && place >>> 8 === before >>> 8) near += 1;
    networks.set(place >>> 16, (networks.get(place >>> 16) ?? 0) + 1);
    before = place;
  }
  // 25,600 draws over 256 networks: 100 each, with a standard deviation of 10.
  assert.equal(networks.size, 256);
  assert.ok(Math.max(...networks.values()) < 160 && Math.min(...networks.values()) > 50);
  assert.ok(near <= 8, `${near} neighbours lay in one /24, and chance puts 0.4 there`);
});
