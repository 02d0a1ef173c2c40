import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createEngine } from '../../src/engine/engine.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { closeSqs, openSqs, startSqs } from '../support/queue/fauxqs.ts';

test('a task whose message became a dead letter at SQS comes to completion', async () => {
  const server = await startSqs();
  const { database } = await createTestDatabase();
  const sqs = await openSqs(server, database);
  const { queue } = sqs;
  try {
    const clock = new VirtualClock();
    const engine = createEngine({ database, clock, random: systemRandom, log: silentLogger, queue });
    await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 1 }]);
    const { tasks } = await submitTasks(engine, [newTask()]);
    await engine.dispatch('manager', 10);
    const [message] = await queue.receive('worker:work', { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
    await queue.deadLetter('worker:work', [{ receipt: message!.receipt, reason: 'unreadable' }]);
    await clock.advance(60_000);
    await engine.sweep();
    const task = await engine.getTask(tasks[0]!.id);
    assert.equal(task?.state, 'failed');
    assert.match(task.failure_reason!, /unreadable/);
    const dead = await queue.listDead('worker:work', { offset: 0, limit: 10 });
    assert.deepEqual(
      dead.map(({ id, body }) => [id, body]),
      [[message!.id, message!.body]],
    );
    await engine.close();
  } finally {
    await closeSqs(sqs);
    await server.stop();
  }
});
