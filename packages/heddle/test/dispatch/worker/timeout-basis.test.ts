import assert from 'node:assert/strict';
import { it } from 'node:test';

import { defineKind } from '@heddle/kit';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import { VirtualClock } from '@heddle/base/clock';
import { startTasks, Told, workerOf } from '../../support/dispatch/worker/harness.ts';

it('a run whose timeout counts from its start ends with it, whatever progress it reports', async () => {
  const clock = new VirtualClock();
  const queue = new MemoryQueue({ clock });
  const told = new Told(queue);
  const signals: AbortSignal[] = [];
  const counting = defineKind({
    name: 'counting',
    run: async (_, { progress, signal }) => {
      signals.push(signal);
      for (let n = 0; n < 10; n += 1) {
        await clock.sleep(20_000);
        await progress(1);
      }
    },
  });
  const worker = workerOf(queue, [counting], { clock });
  worker.start();
  const [task] = await startTasks(queue, 'counting', 1, { timeout_secs: 30, timeout_basis: 'start' });
  await clock.advance(250_000);
  const [ended] = await told.untilEnded(1);
  assert.deepEqual([ended!.task_id, ended!.state], [task!.id, 'Timeout']);
  assert.equal(ended!.reason, 'it ran for longer than its timeout of 30 s');
  assert.equal(signals[0]!.aborted, true);
  const stopping = worker.stop(0);
  await clock.advance(60_000);
  await stopping;
  await told.read();
  assert.equal(told.ends.length, 1);
});
