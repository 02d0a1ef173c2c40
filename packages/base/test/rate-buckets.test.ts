import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RateBuckets } from '../src/rate-buckets.ts';

test('a bucket gives its burst at once, then one token in each interval', () => {
  const buckets = new RateBuckets({ perSecond: 1, burst: 2 });
  assert.deepEqual([buckets.take('a', 0), buckets.take('a', 0), buckets.take('a', 0)], [0, 0, 1000]);
  assert.equal(buckets.take('b', 0), 0);
  assert.equal(buckets.take('a', 1000), 0);
  assert.equal(buckets.take('a', 1000), 1000);
});

test('a token that is returned can be taken again, and a bucket holds no more than its burst', () => {
  const buckets = new RateBuckets({ perSecond: 1, burst: 2 });
  buckets.refund('a', 0);
  assert.equal(buckets.isFull('a', 0), true);
  buckets.take('a', 0);
  assert.equal(buckets.isFull('a', 0), false);
  buckets.take('a', 0);
  buckets.refund('a', 0);
  assert.deepEqual([buckets.take('a', 0), buckets.take('a', 0)], [0, 1000]);
});

test('beyond the maximum of buckets, the first ones are full again', () => {
  const buckets = new RateBuckets({ perSecond: 1, burst: 1, bucketsMax: 2 });
  for (const key of ['a', 'b', 'c']) buckets.take(key, 0);
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => buckets.isFull(key, 0)),
    [true, false, false],
  );
});
