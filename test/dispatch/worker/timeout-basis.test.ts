import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { defineKind } from '../../../src/index.ts';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { VirtualClock } from '../../../src/runtime/clock.ts';
import { startTasks, Told, workerOf } from './harness.ts';

describe('the timeout of a task from a queue', () => {
  for (const [basis, does, end] of [
    ['start', 'ends it', ['Timeout', 'it ran for longer than its timeout of 30 s']],
    ['activity', 'does not end it', ['Succeeded', null]],
  ] as const) {
    it(`counts from the ${basis}, so it ${does} while it makes progress`, async () => {
      const clock = new VirtualClock();
      const queue = new MemoryQueue({ clock });
      const told = new Told(queue);
      const counting = defineKind({
        name: 'counting',
        run: async (_, { progress, signal }) => {
          for (let n = 0; n < 3; n += 1) {
            await clock.sleep(20_000);
            signal.throwIfAborted();
            await progress(1);
          }
        },
      });
      const worker = workerOf(queue, [counting], { clock });
      await startTasks(queue, 'counting', 1, { timeout_secs: 30, timeout_basis: basis });
      worker.start();
      await clock.advance(70_000);
      const [ended] = await told.untilEnded(1);
      const stopping = worker.stop(0);
      await clock.advance(10_000);
      await stopping;
      assert.deepEqual([ended!.state, ended!.reason], end);
    });
  }
});
