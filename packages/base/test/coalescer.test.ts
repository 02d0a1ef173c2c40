import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import fc from 'fast-check';

import { HeddleError } from '../src/errors.ts';
import { Coalescer } from '../src/coalescer.ts';

const room = { maxItems: 100, maxWaiting: 1_000 };

/** A flush that waits until it is released. */
function steppedFlush(): { sets: number[][]; flush: (items: number[]) => Promise<number[]>; finish: () => void } {
  const sets: number[][] = [];
  let finish = (): void => undefined;
  return {
    sets,
    flush: (items) => {
      sets.push(items);
      return new Promise((resolve) => {
        finish = () => resolve(items.map((item) => item * 10));
      });
    },
    finish: () => finish(),
  };
}

test('as many flushes as allowed are under way at once, and none is missing when one ends', async () => {
  const open: { items: number[]; finish: () => void }[] = [];
  const coalescer = new Coalescer<number, number>({
    ...room,
    maxUnderWay: 2,
    flush: (items) => new Promise((resolve) => open.push({ items, finish: () => resolve(items) })),
  });
  const results: Promise<number>[] = [];
  for (let item = 0; item < 5; item += 1) {
    results.push(coalescer.add(item));
    await eventLoopTurn();
  }
  assert.deepEqual(
    open.map(({ items }) => items),
    [[0], [1]],
  );
  // The next item is added in the very turn in which a flush ends with nothing left to do.
  open[1]!.finish();
  await results[1];
  results.push(coalescer.add(5));
  await eventLoopTurn();
  const drained = coalescer.drain();
  for (let done = 0; done < open.length; done += 1) {
    open[done]!.finish();
    await eventLoopTurn();
  }
  await drained;
  assert.deepEqual(await Promise.all(results), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(
    open.flatMap(({ items }) => items),
    [0, 1, 2, 3, 4, 5],
  );
});

test('a flush starts beside another one only if enough waits, and nothing waits for it', async () => {
  const open: { items: number[]; finish: () => void }[] = [];
  const coalescer = new Coalescer<number, number>({
    ...room,
    maxUnderWay: 2,
    besideMin: 10,
    sizeOf: (item) => item,
    flush: (items) => new Promise((resolve) => open.push({ items, finish: () => resolve(items) })),
  });
  const sets = (): number[][] => open.map(({ items }) => items);
  const results: Promise<number>[] = [];
  const add = async (...items: number[]): Promise<void> => {
    results.push(...items.map((item) => coalescer.add(item)));
    await eventLoopTurn();
  };
  await add(1);
  await add(4, 5);
  assert.deepEqual(sets(), [[1]]);
  await add(6);
  assert.deepEqual(sets(), [[1], [4, 5, 6]]);
  await add(2, 3);
  // The second flush leaves to the first one what is too little.
  open[1]!.finish();
  await eventLoopTurn();
  assert.equal(open.length, 2);
  open[0]!.finish();
  await eventLoopTurn();
  assert.deepEqual(sets(), [[1], [4, 5, 6], [2, 3]]);
  open[2]!.finish();
  await coalescer.drain();
  assert.deepEqual(await Promise.all(results), [1, 4, 5, 6, 2, 3]);
});

test('an item added in the turn that ends a flush is taken', async () => {
  const coalescer = new Coalescer<number, number>({ ...room, flush: (items) => Promise.resolve(items) });
  let last = coalescer.add(0);
  for (let item = 1; item <= 50; item += 1) {
    await last;
    for (let turn = 0; turn < item % 5; turn += 1) await Promise.resolve();
    last = coalescer.add(item);
  }
  assert.equal(await last, 50);
  assert.equal(coalescer.waiting, 0);
});

test('what arrives during a flush forms the next one, in order, and each caller gets its own result', async () => {
  const stepped = steppedFlush();
  const coalescer = new Coalescer<number, number>({ ...room, flush: stepped.flush });
  const first = [coalescer.add(1), coalescer.add(2)];
  await eventLoopTurn();
  const second = [3, 4, 5].map((item) => coalescer.add(item));
  assert.equal(coalescer.waiting, 3);
  await eventLoopTurn();
  assert.deepEqual(stepped.sets, [[1, 2]]);
  stepped.finish();
  assert.deepEqual(await Promise.all(first), [10, 20]);
  await eventLoopTurn();
  assert.deepEqual(stepped.sets, [
    [1, 2],
    [3, 4, 5],
  ]);
  stepped.finish();
  assert.deepEqual(await Promise.all(second), [30, 40, 50]);
});

test('no set is larger than maxItems', async () => {
  const sizes: number[] = [];
  const coalescer = new Coalescer<number, number>({
    maxItems: 4,
    maxWaiting: 100,
    flush: (items) => {
      sizes.push(items.length);
      return Promise.resolve(items);
    },
  });
  await Promise.all(Array.from({ length: 10 }, (_, item) => coalescer.add(item)));
  assert.deepEqual(sizes, [4, 4, 2]);
});

test('a full waiting room refuses with TOO_MANY_REQUESTS, and has room again after a flush', async () => {
  const stepped = steppedFlush();
  const coalescer = new Coalescer<number, number>({ maxItems: 10, maxWaiting: 2, flush: stepped.flush });
  const taken = coalescer.add(0);
  await eventLoopTurn();
  const waiting = [coalescer.add(1), coalescer.add(2)];
  await assert.rejects(
    coalescer.add(3),
    (error) => error instanceof HeddleError && error.code === 'TOO_MANY_REQUESTS' && error.retryAfterSecs === 1,
  );
  stepped.finish();
  await taken;
  await eventLoopTurn();
  const next = coalescer.add(4);
  stepped.finish();
  await Promise.all(waiting);
  await eventLoopTurn();
  stepped.finish();
  assert.equal(await next, 40);
});

test('settled results settle their items one by one', async () => {
  const coalescer = new Coalescer<string, string>({
    ...room,
    flush: (items) =>
      Promise.resolve(
        items.map((item): PromiseSettledResult<string> =>
          item === 'bad'
            ? { status: 'rejected', reason: new Error('bad row') }
            : { status: 'fulfilled', value: item.toUpperCase() },
        ),
      ),
  });
  const [good, bad] = await Promise.allSettled([coalescer.add('good'), coalescer.add('bad')]);
  assert.deepEqual(good, { status: 'fulfilled', value: 'GOOD' });
  assert.equal(bad.status, 'rejected');
});

test('a result that merely has a status member is a result', async () => {
  const coalescer = new Coalescer<number, { status: string }>({
    ...room,
    flush: (items) => Promise.resolve(items.map(() => ({ status: 'fulfilled' }))),
  });
  assert.deepEqual(await coalescer.add(1), { status: 'fulfilled' });
});

test('bad items fail alone: every good item of the same sets is applied exactly once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 16 }),
      async (goods, maxItems) => {
        const applied: number[] = [];
        const coalescer = new Coalescer<number, number>({
          maxItems,
          maxWaiting: 100,
          flush: async (items) => {
            await Promise.resolve();
            const bad = items.find((item) => goods[item] === false);
            if (bad !== undefined) throw new Error(`row ${bad} is bad`);
            applied.push(...items);
            return items;
          },
        });
        const results = await Promise.allSettled(goods.map((_, item) => coalescer.add(item)));
        results.forEach((result, item) => {
          if (goods[item] === true) assert.deepEqual(result, { status: 'fulfilled', value: item });
          else assert.equal((result as { reason: Error }).reason.message, `row ${item} is bad`);
        });
        assert.deepEqual(
          applied,
          goods.flatMap((good, item) => (good ? [item] : [])),
        );
      },
    ),
  );
});

test('one bad item of 1,024 costs tens of flushes, not a thousand', async () => {
  let flushes = 0;
  const coalescer = new Coalescer<number, number>({
    maxItems: 1_024,
    maxWaiting: 2_000,
    flush: (items) => {
      flushes += 1;
      return items.includes(700) ? Promise.reject(new Error('bad')) : Promise.resolve(items);
    },
  });
  const results = await Promise.allSettled(Array.from({ length: 1_024 }, (_, item) => coalescer.add(item)));
  assert.equal(results.filter((result) => result.status === 'rejected').length, 1);
  assert.ok(flushes <= 21, `${flushes} flushes`);
});

for (const [name, error, isolate] of [
  ['an error that passes by itself', new HeddleError('DATABASE_UNAVAILABLE'), undefined],
  ['isolate: false', new Error('bad'), false],
  ['an isolate function that says no', new Error('bad'), () => false],
] as const) {
  test(`${name} rejects the whole set without a repeat`, async () => {
    let flushes = 0;
    const coalescer = new Coalescer<number, number>({
      ...room,
      ...(isolate === undefined ? {} : { isolate }),
      flush: () => {
        flushes += 1;
        return Promise.reject(error);
      },
    });
    const results = await Promise.allSettled([coalescer.add(1), coalescer.add(2)]);
    assert.ok(results.every((result) => result.status === 'rejected' && result.reason === error));
    assert.equal(flushes, 1);
  });
}

test('a wrong number of results rejects the set and is not repeated; later items are served', async () => {
  let flushes = 0;
  const coalescer = new Coalescer<number, number>({
    ...room,
    flush: (items) => {
      flushes += 1;
      return Promise.resolve(flushes === 1 ? [] : items);
    },
  });
  const results = await Promise.allSettled([coalescer.add(1), coalescer.add(2)]);
  assert.ok(results.every((result) => result.status === 'rejected'));
  assert.equal(flushes, 1);
  assert.equal(await coalescer.add(3), 3);
});

test('drain waits for what is under way and what is queued behind it', async () => {
  const stepped = steppedFlush();
  const coalescer = new Coalescer<number, number>({ ...room, flush: stepped.flush });
  await coalescer.drain();
  const first = coalescer.add(1);
  await eventLoopTurn();
  const second = coalescer.add(2);
  let drained = false;
  const drain = coalescer.drain().then(() => (drained = true));
  stepped.finish();
  await first;
  await eventLoopTurn();
  assert.equal(drained, false);
  stepped.finish();
  await second;
  await drain;
  assert.equal(coalescer.waiting, 0);
});
