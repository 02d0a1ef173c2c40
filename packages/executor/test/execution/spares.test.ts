/** Counts starts of spare processes, using stand-ins, because only the number matters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TaskProcess } from '../../src/execution/launcher.ts';
import { Spares } from '../../src/execution/spares.ts';
import type { Ahead } from '../../src/execution/start-process.ts';
import { VirtualClock } from '@heddle/base/clock';
import { eventLoopTurn } from '@heddle/base/turn';

const TOTAL = 4;
const TURNS = 200;

class Counted {
  readonly clock = new VirtualClock();
  readonly spares = new Spares(TOTAL, 60_000, this.clock, () => undefined);
  started = 0;
  alive = 0;
  starting = 0;
  mostStarting = 0;
  fails = false;

  /** Ends each started process from within. */
  readonly ends: (() => void)[] = [];

  hastened = 0;
  /** Taken processes come first. */
  steppedUp = 0;

  readonly start = (): Ahead => {
    this.started += 1;
    this.starting += 1;
    this.mostStarting = Math.max(this.mostStarting, this.starting);
    return { ready: this.#becomeReady(), raise: () => (this.hastened += 1) };
  };

  async #becomeReady(): Promise<TaskProcess> {
    await eventLoopTurn();
    this.starting -= 1;
    if (this.fails) throw new Error('start failed');
    this.alive += 1;
    const worker = { isLost: false };
    const kill = (): void => {
      if (!worker.isLost) this.alive -= 1;
      worker.isLost = true;
    };
    const { promise: gone, resolve } = Promise.withResolvers<undefined>();
    this.ends.push(() => {
      kill();
      resolve(undefined);
    });
    return { worker, kill, gone, restorePriority: () => (this.steppedUp += 1) } as unknown as TaskProcess;
  }

  /** Takes a spare and sets it aside, like a running task; may find none. */
  async ask(key: string, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      if ((await this.spares.take(key, this.start)) !== null) this.alive -= 1;
    }
    this.spares.refill(key);
  }

  /** Runs until nothing more is started. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await eventLoopTurn();
  }
}

test('two kinds that exceed the total settle', async () => {
  const counted = new Counted();
  await counted.ask('one', TOTAL);
  await counted.settle();
  assert.equal(counted.alive, TOTAL);
  await counted.ask('two', TOTAL);
  await counted.settle();
  const { started } = counted;
  assert.ok(started <= 3 * TOTAL, `${started} started`);
  await counted.settle();
  assert.equal(counted.started, started);
  assert.ok(counted.spares.held <= TOTAL, `${counted.spares.held} held`);
  assert.ok((await counted.spares.take('two', counted.start)) !== null);
});

test('all wanted spares are started, with limited concurrency', async () => {
  const counted = new Counted();
  await counted.ask('one', 2);
  await counted.ask('two', 2);
  await counted.settle();
  assert.equal(counted.spares.held, TOTAL);
  assert.equal(counted.alive, TOTAL);
  assert.ok(counted.mostStarting < TOTAL, `${counted.mostStarting} at once`);
});

test('a spare that ends by itself is removed, and replaced only on demand', async () => {
  const counted = new Counted();
  counted.spares.warm('one', counted.start);
  await counted.settle();
  counted.ends[0]!();
  await counted.settle();
  assert.deepEqual([counted.spares.held, counted.started], [0, 1]);
  counted.spares.warm('one', counted.start);
  await counted.settle();
  assert.deepEqual([counted.spares.held, counted.started], [1, 2]);
});

test('a closed pool keeps nothing', async () => {
  const counted = new Counted();
  await counted.ask('one', 3);
  counted.spares.close();
  await counted.settle();
  assert.equal(counted.alive, 0);
});

test('without a ready spare, the starting one is taken and its priority restored', async () => {
  const counted = new Counted();
  counted.spares.warm('one', counted.start);
  const [first, second] = await Promise.all([
    counted.spares.take('one', counted.start),
    counted.spares.take('one', counted.start),
  ]);
  assert.deepEqual([first !== null, second], [true, null]);
  await counted.settle();
  assert.deepEqual([counted.hastened, counted.steppedUp], [1, 1]);
  // Neither found a ready one, so two are wanted, not counting the one taken.
  assert.deepEqual([counted.spares.held, counted.started], [3, 4]);
});

test('the priority of a ready spare is restored when it is taken', async () => {
  const counted = new Counted();
  counted.spares.warm('one', counted.start);
  await counted.settle();
  assert.equal(counted.steppedUp, 0);
  assert.ok((await counted.spares.take('one', counted.start)) !== null);
  assert.deepEqual([counted.steppedUp, counted.hastened], [1, 0]);
});

test('taking a spare that fails to start returns none', async () => {
  const counted = new Counted();
  counted.fails = true;
  counted.spares.warm('one', counted.start);
  assert.equal(await counted.spares.take('one', counted.start), null);
  await counted.settle();
  assert.deepEqual([counted.started, counted.spares.held], [1, 0]);
});
