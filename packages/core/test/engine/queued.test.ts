import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { parseWorkflow } from '../../src/domain/parse/workflow.ts';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { createEngine, type TransactionalEngine } from '../../src/engine/engine.ts';
import { PostgresQueue } from '../../src/queue/postgres.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { claimKind, newTask, submitTasks } from '@heddle/test-support/engine/fixture';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const QUEUE = 'worker:work';

interface QueuedBench {
  engine: TransactionalEngine;
  queue: PostgresQueue;
  clock: VirtualClock;
  /** Tasks that wait in the queue of their kind. */
  dispatched: (...tasks: Partial<NewTask>[]) => Promise<string[]>;
  stateOf: (id: string) => Promise<string>;
}

async function queuedBench(maxReceives = 2): Promise<QueuedBench> {
  const { database } = await createTestDatabase();
  const clock = new VirtualClock();
  const now = (): string => new Date(clock.now()).toISOString();
  const common = { database, clock, log: silentLogger, now };
  const queue = new PostgresQueue({ ...common, maxReceives });
  const engine = createEngine({ ...common, random: systemRandom, queue });
  return {
    engine,
    queue,
    clock,
    async dispatched(...tasks) {
      await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 10 }]);
      const { tasks: stored } = await submitTasks(
        engine,
        tasks.map((task) => newTask(task)),
      );
      assert.equal((await engine.dispatch('manager', 100)).length, tasks.length);
      return stored.map(({ id }) => id);
    },
    async stateOf(id) {
      const task = await engine.getTask(id);
      return `${task!.state} ${task!.attempt}`;
    },
  };
}

describe('attempts whose messages no one will read', { concurrency: false }, () => {
  test('one whose message was handed out too often fails, or is retried', async () => {
    const { engine, queue, clock, dispatched, stateOf } = await queuedBench();
    const retry = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
    const [once, twice] = await dispatched({}, { retry });
    const receive = { max: 10, wait_ms: 0, visibility_ms: 1_000 };
    for (const expected of [2, 2, 0]) {
      assert.equal((await queue.receive(QUEUE, receive)).length, expected);
      await clock.advance(2_000);
    }
    await engine.pause([twice!]);
    await clock.advance(MINUTE_MS);
    await engine.sweep();
    assert.equal(await stateOf(once!), 'failed 1');
    assert.match((await engine.getTask(once!))!.failure_reason!, /^its message became a dead letter: received 2 times/);
    assert.equal(await stateOf(twice!), 'paused 1');
    await engine.resume([twice!]);
    await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 10 }]);
    const [again] = await engine.dispatch('manager', 10);
    assert.deepEqual([again?.task.id, again?.task.attempt], [twice, 2]);
  });

  test('one that a worker could not read fails with what the worker said', async () => {
    const { engine, queue, clock, dispatched, stateOf } = await queuedBench();
    const [id] = await dispatched({});
    const [message] = await queue.receive(QUEUE, { max: 1, wait_ms: 0, visibility_ms: 1_000 });
    await queue.deadLetter(QUEUE, [{ receipt: message!.receipt, reason: 'task.input: is not read by this version' }]);
    await clock.advance(MINUTE_MS);
    await engine.sweep();
    assert.equal(await stateOf(id!), 'failed 1');
    assert.match((await engine.getTask(id!))!.failure_reason!, /is not read by this version/);
  });

  test('what the last worker of a queue left there goes to others who take the kind, without its message', async () => {
    const { engine, queue, clock, dispatched, stateOf } = await queuedBench();
    const [first, second] = await dispatched({}, {});
    const [held] = await queue.receive(QUEUE, { max: 1, wait_ms: 0, visibility_ms: 10 * MINUTE_MS });
    await clock.advance(2 * MINUTE_MS);
    await engine.sweep();
    assert.deepEqual([await stateOf(first!), await stateOf(second!)], ['claimed 1', 'claimed 1']);

    assert.deepEqual(await claimKind(engine), []);
    await clock.advance(MINUTE_MS - 1_000);
    await claimKind(engine);
    await clock.advance(1_000);
    assert.equal((await engine.sweep()).requeued, 1);
    const [taken] = await claimKind(engine);
    const { id: heldId } = (JSON.parse(held!.body) as { task: { id: string } }).task;
    assert.deepEqual([taken!.id, taken!.attempt], [heldId === first ? second : first, 2]);
    assert.equal(await stateOf(heldId), 'claimed 1');
    const { visible, in_flight } = await queue.depth(QUEUE);
    assert.deepEqual([visible, in_flight], [0, 1]);
  });

  test('one whose message is in no queue any more is handed out again, but not before every queue forgot it', async () => {
    const { engine, queue, clock, dispatched, stateOf } = await queuedBench();
    const [gone, waiting] = await dispatched({}, {});
    const messages = await queue.receive(QUEUE, { max: 2, wait_ms: 0, visibility_ms: 1_000 });
    const lost = messages.find(({ body }) => body.includes(gone!));
    await queue.delete(QUEUE, [lost!.receipt]);
    await clock.advance(14 * DAY_MS);
    await engine.sweep();
    assert.equal(await stateOf(gone!), 'claimed 1');
    await clock.advance(DAY_MS);
    await engine.sweep();
    assert.deepEqual([await stateOf(gone!), await stateOf(waiting!)], ['pending 1', 'claimed 1']);
  });

  test('a generator whose nodes got lost runs out of time, even if its end was reported before its start', async () => {
    const { engine, clock, stateOf } = await queuedBench();
    await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 10 }]);
    const generator = { kind: 'work', generator: true, timeout_secs: 120 };
    const parsed = parseWorkflow({ root: { mode: 'parallel', children: [generator, { kind: 'work' }] } }, newId);
    assert.ok(parsed.ok);
    const { name, root } = parsed;
    await engine.submitWorkflows([{ name, root, traceparent: null, idempotency: null, job_run_id: null }]);
    const [started] = await engine.dispatch('manager', 10);
    const { id: task_id, attempt } = started!.task;
    await engine.report([{ task_id, attempt, outcome: 'succeeded', expected_created: 5 }]);
    assert.equal(await stateOf(task_id), 'expanding 1');
    await clock.advance(MINUTE_MS);
    await engine.sweep();
    await clock.advance(2 * MINUTE_MS);
    await engine.sweep();
    assert.equal(await stateOf(task_id), 'timed_out 1');
  });

  test('one that runs is not taken for lost while what its worker says waits for a manager', async () => {
    const { engine, queue, clock, dispatched, stateOf } = await queuedBench();
    const [id] = await dispatched({});
    await engine.heartbeat([{ task_id: id!, attempt: 1, new_success: 0, new_failures: 0 }]);
    await clock.advance(30_000);
    await queue.send('manager', [{ body: '{"type":"HeartbeatTask"}' }]);
    // No manager and no sweep for a while; the sweep comes first when they are back.
    await clock.advance(10 * MINUTE_MS);
    assert.equal((await engine.sweep()).requeued, 0);
    assert.equal(await stateOf(id!), 'running 1');
    const [late] = await queue.receive('manager', { max: 1, wait_ms: 0, visibility_ms: 60_000 });
    await queue.delete('manager', [late!.receipt]);
    await clock.advance(1_000);
    assert.equal((await engine.sweep()).requeued, 1);
    assert.equal(await stateOf(id!), 'pending 1');
  });
});
