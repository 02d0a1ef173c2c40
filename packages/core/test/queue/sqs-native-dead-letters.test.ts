import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { ChangeMessageVisibilityCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';

import { createEngine } from '../../src/engine/engine.ts';
import { createManager } from '../../src/engine/manager/manager.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { closeSqs, openSqs, startSqs } from '../support/queue/fauxqs.ts';

const server = await startSqs();
const client = new SQSClient({ region: 'us-east-1', endpoint: server.address });
after(async () => {
  client.destroy();
  await server.stop();
});

/** Receives like a consumer that is not Heddle's and never settles anything, until SQS hands nothing out any more. */
async function wearOut(name: string): Promise<void> {
  const QueueUrl = `${server.address}/000000000000/${name}`;
  await eventually(async () => {
    const { Messages: [message] = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl }));
    if (message === undefined) return true;
    const { ReceiptHandle } = message;
    await client.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
    return false;
  }, `SQS gave up on ${name}`);
}

test('a task whose message SQS itself made a dead letter comes to completion within minutes', async () => {
  const { database } = await createTestDatabase();
  const sqs = await openSqs(server, database, { maxReceives: 2 });
  const { queue, prefix } = sqs;
  const clock = new VirtualClock();
  const common = { database, clock, queue, log: silentLogger };
  const engine = createEngine({ ...common, random: systemRandom });
  const jobs = { database, queue, log: silentLogger, newId, now: () => null };
  const manager = createManager({ ...common, engine, jobs, newId, holder: 'test' });
  try {
    await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 9 }]);
    const { tasks } = await submitTasks(engine, [newTask(), newTask()]);
    await engine.dispatch('manager', 10);
    // One is dead-lettered by its receiver and noted at once; the other one by SQS, which tells no one.
    const [message] = await queue.receive('worker:work', { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
    await queue.deadLetter('worker:work', [{ receipt: message!.receipt, reason: 'unreadable' }]);
    await eventually(async () => (await queue.depth('worker:work')).visible === 1, 'the other one is at SQS');
    await wearOut(`${prefix}-worker-work`);
    assert.equal(await manager.recordDeadLetters(), 1);
    assert.equal(await manager.recordDeadLetters(), 0, 'nothing has changed since');
    await clock.advance(60_000);
    await engine.sweep();
    const reasons = await Promise.all(tasks.map(async ({ id }) => (await engine.getTask(id))?.failure_reason ?? ''));
    assert.deepEqual(reasons.toSorted(), [
      'its message became a dead letter: dead-lettered by SQS: received too often and never settled',
      'its message became a dead letter: unreadable',
    ]);
    const dead = await queue.listDead('worker:work', { offset: 0, limit: 9 });
    assert.equal(dead.length, 2, 'both can be listed and redriven');
    assert.equal(await queue.redrive('worker:work', null), 2);
  } finally {
    await engine.close();
    await closeSqs(sqs);
  }
});

test('where the dead letters cannot be read nothing is found, and nothing fails', async () => {
  const { database } = await createTestDatabase();
  const sqs = await openSqs(server, database, { create: false });
  assert.deepEqual(await sqs.queue.listDeadLettered?.(['worker:none']), new Map());
  await closeSqs(sqs);
});
