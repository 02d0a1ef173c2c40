import assert from 'node:assert/strict';
import { test } from 'node:test';

import { newId, seededRandom, systemRandom } from '../src/random.ts';

test('new ids are UUIDv7 of now, distinct and strictly increasing', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, newId);
  const afterwards = Date.now();
  assert.match(ids[0]!, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const madeAt = Number.parseInt(ids[0]!.replace('-', '').slice(0, 12), 16);
  assert.ok(madeAt >= before && madeAt <= afterwards);
  for (let at = 1; at < ids.length; at += 1) assert.ok(ids[at]! > ids[at - 1]!);
});

test('a seed repeats its sequence, another seed gives another', () => {
  const draw = (seed: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 5 }, () => random.next());
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  assert.deepEqual(seededRandom(7).bytes(9), seededRandom(7).bytes(9));
});

for (const [name, random] of [
  ['system', systemRandom],
  ['seeded', seededRandom(1)],
] as const) {
  test(`numbers of the ${name} generator are in [0, 1) and spread over it, bytes have the length asked for`, () => {
    const buckets = new Array<number>(10).fill(0);
    for (let draw = 0; draw < 10_000; draw += 1) {
      const number = random.next();
      assert.ok(number >= 0 && number < 1);
      buckets[Math.floor(number * 10)]! += 1;
    }
    for (const count of buckets) assert.ok(count > 700 && count < 1_300, `a bucket holds ${count}`);
    assert.equal(random.bytes(33).length, 33);
    assert.notDeepEqual(random.bytes(16), random.bytes(16));
  });
}

test('small pieces of the system are all different, and stay what they are', () => {
  const pieces = Array.from({ length: 2_000 }, (_, index) => systemRandom.bytes(1 + (index % 80)));
  const long = pieces.filter((piece) => piece.length >= 12);
  const texts = long.map((piece) => Buffer.from(piece).toString('hex'));
  assert.equal(new Set(texts).size, texts.length);
  for (let draw = 0; draw < 1_000; draw += 1) systemRandom.bytes(16);
  assert.deepEqual(
    long.map((piece) => Buffer.from(piece).toString('hex')),
    texts,
  );
});
