/** When processes are started ahead, and when not: counted on stand-ins, since it is the number that matters. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TaskProcess } from '../../../src/remote/execution/launcher.ts';
import { Spares } from '../../../src/remote/execution/spares.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { eventLoopTurn } from '../../../src/runtime/turn.ts';

const TOTAL = 4;
const TURNS = 200;

class Counted {
  readonly clock = new VirtualClock();
  readonly spares = new Spares(TOTAL, 60_000, this.clock, () => undefined);
  started = 0;
  alive = 0;
  starting = 0;
  mostStarting = 0;

  readonly start = async (): Promise<TaskProcess> => {
    this.started += 1;
    this.starting += 1;
    this.mostStarting = Math.max(this.mostStarting, this.starting);
    await eventLoopTurn();
    this.starting -= 1;
    this.alive += 1;
    const worker = { isLost: false };
    const kill = (): void => {
      if (!worker.isLost) this.alive -= 1;
      worker.isLost = true;
    };
    return { worker, kill } as unknown as TaskProcess;
  };

  /** Asks so often in vain or not, and puts what it got aside, as a task that runs. */
  ask(key: string, times: number): void {
    for (let time = 0; time < times; time++) {
      if (this.spares.take(key, this.start) !== null) this.alive -= 1;
    }
    this.spares.refill(key);
  }

  /** As long as anything could still be started. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await eventLoopTurn();
  }
}

test('two kinds that do not fit side by side come to rest', async () => {
  const counted = new Counted();
  counted.ask('one', TOTAL);
  await counted.settle();
  assert.equal(counted.alive, TOTAL);
  counted.ask('two', TOTAL);
  await counted.settle();
  const { started } = counted;
  assert.ok(started <= 3 * TOTAL, `${started} were started`);
  await counted.settle();
  assert.equal(counted.started, started);
  assert.ok(counted.spares.held <= TOTAL, `${counted.spares.held} are held`);
  assert.ok(counted.spares.take('two', counted.start) !== null);
});

test('all that is wanted is started, never many at once', async () => {
  const counted = new Counted();
  counted.ask('one', 2);
  counted.ask('two', 2);
  await counted.settle();
  assert.equal(counted.spares.held, TOTAL);
  assert.equal(counted.alive, TOTAL);
  assert.ok(counted.mostStarting < TOTAL, `${counted.mostStarting} at once`);
});

test('a closed one keeps nothing', async () => {
  const counted = new Counted();
  counted.ask('one', 3);
  counted.spares.close();
  await counted.settle();
  assert.equal(counted.alive, 0);
});
