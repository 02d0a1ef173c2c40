import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Delivery, ReorderBuffer } from '../../src/coordinator/reorder-buffer.ts';
import type { Finding, Problem } from '../../src/result.ts';

/** Only the identifying fields: the buffer passes findings on unchanged. */
const finding = (secret: string): Finding =>
  ({ secret, path: '', match: '', description: '', confidence_reason: '' }) as Finding;
const problem = (path: string): Problem => ({ code: 'unreadable', path, message: 'no', extent: 'skipped' });

function bufferOf(changes: Partial<Delivery> = {}): { buffer: ReorderBuffer; seen: string[] } {
  const seen: string[] = [];
  const buffer = new ReorderBuffer({
    finding: ({ secret }) => void seen.push(secret),
    problem: ({ path }) => void seen.push(`problem ${path}`),
    acknowledge: (index, count) => void seen.push(`acknowledged ${count} of ${index}`),
    advanced: (next) => void seen.push(`next ${next}`),
    failed: (error) => void seen.push(String(error)),
    ...changes,
  });
  return { buffer, seen };
}

test('delivers results in the order of their objects, whichever ends first', () => {
  const { buffer, seen } = bufferOf();
  buffer.add(1, [finding('b')], []);
  buffer.complete(1);
  buffer.complete(2);
  buffer.deliver();
  assert.deepEqual(seen, []);
  buffer.add(0, [finding('a')], [problem('x')]);
  buffer.complete(0);
  buffer.deliver();
  assert.deepEqual(seen, ['a', 'problem x', 'b', 'next 3']);
});

test('delivers and acknowledges parts of the oldest object at once', () => {
  const { buffer, seen } = bufferOf();
  buffer.add(0, [finding('a'), finding('b')], []);
  buffer.deliver();
  buffer.add(0, [finding('c')], []);
  buffer.complete(0);
  buffer.deliver();
  assert.deepEqual(seen, ['a', 'b', 'acknowledged 2 of 0', 'c', 'next 1']);
});

test('an object that is read again yields only new results', () => {
  const { buffer, seen } = bufferOf();
  buffer.add(0, [finding('a'), finding('b')], [problem('x')]);
  buffer.deliver();
  buffer.restart(0);
  buffer.add(0, [finding('a')], [problem('x')]);
  buffer.add(0, [finding('b'), finding('c')], [problem('y')]);
  buffer.complete(0);
  buffer.deliver();
  assert.deepEqual(seen, ['a', 'b', 'acknowledged 2 of 0', 'problem x', 'c', 'problem y', 'next 1']);
});

test('a slow delivery delays the next one; a failed one is reported', async () => {
  const waiting: PromiseWithResolvers<undefined>[] = [];
  const { buffer, seen } = bufferOf({
    finding: ({ secret }) => {
      seen.push(secret);
      const answer = Promise.withResolvers<undefined>();
      waiting.push(answer);
      return answer.promise;
    },
  });
  buffer.add(0, [finding('a'), finding('b')], []);
  buffer.complete(0);
  buffer.deliver();
  buffer.deliver();
  assert.deepEqual(seen, ['a']);
  waiting[0]!.resolve(undefined);
  await new Promise(setImmediate);
  assert.deepEqual(seen, ['a', 'b']);
  waiting[1]!.reject(new Error('closed'));
  await new Promise(setImmediate);
  assert.deepEqual(seen, ['a', 'b', 'Error: closed']);
});

test('large findings fill it like many small ones', () => {
  const { buffer } = bufferOf();
  const large = finding('x'.repeat(1024 * 1024));
  buffer.add(1, Array<Finding>(10).fill(large), []);
  assert.equal(buffer.isFull, false);
  buffer.add(2, Array<Finding>(10).fill(large), []);
  assert.equal(buffer.isFull, true);
  for (const index of [0, 1, 2]) buffer.complete(index);
  buffer.deliver();
  assert.equal(buffer.isFull, false);
});

test('holds a bounded amount, and delivers it on abort despite gaps', async () => {
  const { buffer, seen } = bufferOf();
  buffer.add(5, [finding('f')], []);
  buffer.add(3, [finding('d')], [problem('p')]);
  assert.equal(buffer.isFull, false);
  await buffer.deliverRest();
  assert.deepEqual(
    seen.filter((line) => !line.startsWith('acknowledged')),
    ['d', 'problem p', 'f'],
  );
  for (let index = 10; !buffer.isFull; index++) {
    assert.ok(index < 100_000, 'it never fills up');
    buffer.complete(index);
  }
});
