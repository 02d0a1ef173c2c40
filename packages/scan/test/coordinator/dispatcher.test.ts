import assert from 'node:assert/strict';
import { test } from 'node:test';

import { descriptorOf, Dispatcher } from '../../src/coordinator/dispatcher.ts';
import { WorkerThread } from '../../src/coordinator/worker-thread.ts';
import { CountBudget } from '../../src/graph/count-budget.ts';
import { ObjectFrontier } from '../../src/graph/frontier.ts';
import type { ToWorker, WorkerInit } from '../../src/worker/protocol.ts';

const THREADS = 2;

/** Workers that do nothing by themselves, and what each was sent. */
class Run {
  readonly sent: ToWorker[][] = [];
  readonly workers: WorkerThread[];
  readonly dispatcher: Dispatcher;
  readonly #budget = CountBudget.create(64, THREADS + 1);
  readonly #frontier = new ObjectFrontier(this.#budget, 0);

  constructor() {
    this.dispatcher = new Dispatcher(this.#budget, this.#frontier, THREADS);
    this.workers = Array.from({ length: THREADS }, (_, slot) => {
      const sent: ToWorker[] = [];
      this.sent.push(sent);
      const start = (): { post: (message: ToWorker) => void; terminate: () => void } => ({
        post: (message) => void sent.push(message),
        terminate: () => undefined,
      });
      const worker = new WorkerThread(start, { slot } as WorkerInit, {
        message: () => undefined,
        ended: () => undefined,
      });
      worker.isReady = true;
      return worker;
    });
  }

  admit(count: number): void {
    for (let index = 0; index < count; index++) {
      const object = {
        index,
        source: 0,
        path: `${index}`,
        locator: `${index}`,
        size_hint: 1,
        commit: undefined,
        losses: 0,
      };
      this.dispatcher.add({ object, reference: this.#frontier.tryAcquireContext(descriptorOf(object), 0)! });
    }
  }

  has(slot: number): number[] {
    return [...this.workers[slot]!.outstanding.keys()];
  }

  asked(slot: number): number {
    return this.sent[slot]!.filter(({ type }) => type === 'hand_back').length;
  }

  complete(slot: number, ...indexes: number[]): void {
    for (const index of indexes) this.workers[slot]!.outstanding.delete(index);
  }
}

test('a worker without work gets half of what the other has not begun, once nothing else is left', () => {
  const run = new Run();
  run.admit(12);
  run.dispatcher.dispatch(run.workers, true);
  assert.deepEqual(
    [run.has(0), run.has(1)],
    [
      [0, 1, 2, 3, 4, 5],
      [6, 7, 8, 9, 10, 11],
    ],
  );
  run.complete(1, 6, 7, 8, 9, 10, 11);
  run.dispatcher.dispatch(run.workers, false);
  assert.equal(run.asked(0), 0, 'more may come for the other');
  run.dispatcher.dispatch(run.workers, true);
  run.dispatcher.dispatch(run.workers, true);
  assert.equal(run.asked(0), 1);
  run.dispatcher.takeBack(run.workers[0]!, [2, 3, 4, 5]);
  run.dispatcher.dispatch(run.workers, true);
  assert.deepEqual([run.has(0).length, run.has(1).length], [3, 3]);
  run.complete(1, ...run.has(1));
  run.dispatcher.dispatch(run.workers, true);
  assert.equal(run.asked(0), 2);
});

test('a worker that has begun all of its objects is not asked again', () => {
  const run = new Run();
  run.admit(2);
  run.dispatcher.dispatch([run.workers[0]!], true);
  for (let round = 0; round < 3; round++) {
    run.dispatcher.dispatch(run.workers, true);
    run.dispatcher.takeBack(run.workers[0]!, []);
  }
  assert.equal(run.asked(0), 1);
});
