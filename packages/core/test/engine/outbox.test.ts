import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Action, ActionTrigger } from '@heddle/base/vocabulary/task';
import type { Delivery, Engine } from '../../src/engine/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';

function action(trigger: ActionTrigger, port = 1): Action {
  return { trigger, params: { url: `http://127.0.0.1:${port}/${trigger}`, verb: 'Post' } };
}

const allActions = (['start', 'success', 'failure'] as const).map((trigger) => action(trigger));

function take(engine: Engine, extra: Partial<Parameters<Engine['claimDeliveries']>[0]> = {}): Promise<Delivery[]> {
  return engine.claimDeliveries({
    holder: 'test',
    limit: 100,
    limit_per_origin: 100,
    saturated_origins: [],
    lease_ms: 30_000,
    ...extra,
  });
}

function delivered(engine: Engine, delivery: Delivery, cancelAction?: Action): Promise<void> {
  const result = { id: delivery.id, tries: delivery.tries, outcome: 'delivered' as const, status: 200 };
  return engine.settleDeliveries([cancelAction === undefined ? result : { ...result, cancel_action: cancelAction }]);
}

async function started(
  extra: Parameters<typeof newTask>[0] = {},
): Promise<{ bench: Bench; id: string; start: Delivery }> {
  const bench = await newBench();
  const { tasks } = await submitTasks(bench.engine, [newTask({ actions: allActions, ...extra })]);
  assert.equal(await bench.engine.claimForDelivery('test', 10), 1);
  const [start] = await take(bench.engine);
  return { bench, id: tasks[0]!.id, start: start! };
}

test('a start that was acknowledged makes the task running; its end is announced once, under its key', async () => {
  const { bench, id, start } = await started();
  assert.deepEqual([start.trigger, start.attempt, start.idempotency_key], ['start', 1, `${id}:start`]);
  assert.equal((await bench.engine.getTask(id))?.state, 'claimed');
  await delivered(bench.engine, start);
  assert.equal((await bench.engine.getTask(id))?.state, 'running');
  await bench.engine.report([{ task_id: id, attempt: 1, outcome: 'succeeded' }]);
  await bench.engine.report([{ task_id: id, attempt: 1, outcome: 'succeeded' }]);
  const ends = await take(bench.engine);
  assert.deepEqual(
    ends.map((delivery) => [delivery.trigger, delivery.idempotency_key]),
    [['success', `${id}:end:success`]],
  );
  await delivered(bench.engine, ends[0]!);
  assert.deepEqual(await take(bench.engine), []);
});

test('what a task that ended early announces waits for its start delivery, and is freed when that is abandoned', async () => {
  for (const outcome of ['delivered', 'dead'] as const) {
    const { bench, id, start } = await started();
    await bench.engine.report([{ task_id: id, attempt: null, outcome: 'succeeded' }]);
    assert.deepEqual(await take(bench.engine), []);
    if (outcome === 'delivered') await delivered(bench.engine, start);
    else await bench.engine.settleDeliveries([{ id: start.id, tries: 1, outcome, status: null, error: 'refused' }]);
    assert.deepEqual(
      (await take(bench.engine)).map((delivery) => delivery.trigger),
      ['success'],
    );
    assert.equal((await bench.engine.getTask(id))?.state, 'succeeded');
  }
});

test('a start that is abandoned fails the task with what was answered', async () => {
  const { bench, id, start } = await started();
  await bench.engine.settleDeliveries([{ id: start.id, tries: 1, outcome: 'dead', status: 404, error: 'HTTP 404' }]);
  const task = await bench.engine.getTask(id);
  assert.equal(task?.state, 'failed');
  assert.match(task.failure_reason!, /abandoned after 1 try: HTTP 404/);
  assert.deepEqual(
    (await take(bench.engine)).map((delivery) => delivery.trigger),
    ['failure'],
  );
});

test('a delivery whose process died is taken again after its lease, and the late result of the first is ignored', async () => {
  const clock = new VirtualClock();
  const { engine } = await newBench({ clock });
  const { tasks } = await submitTasks(engine, [newTask({ actions: allActions })]);
  await engine.claimForDelivery('test', 1);
  const [first] = await take(engine, { lease_ms: 5_000 });
  assert.deepEqual(await take(engine), []);
  await clock.advance(5_001);
  const [second] = await take(engine);
  assert.deepEqual([second!.id, second!.tries], [first!.id, 2]);
  await engine.settleDeliveries([{ id: first!.id, tries: 1, outcome: 'dead', status: 500, error: 'late' }]);
  assert.equal((await engine.getTask(tasks[0]!.id))?.state, 'claimed');
  await delivered(engine, second!);
  assert.equal((await engine.getTask(tasks[0]!.id))?.state, 'running');
});

test('a try that is renewed is not taken by another process, one that was taken over cannot be renewed', async () => {
  const clock = new VirtualClock();
  const { engine } = await newBench({ clock });
  await submitTasks(engine, [newTask({ actions: allActions })]);
  await engine.claimForDelivery('test', 1);
  const [first] = await take(engine, { lease_ms: 5_000 });
  await clock.advance(4_000);
  await engine.renewDeliveries([first!], 5_000);
  await clock.advance(4_000);
  assert.deepEqual(await take(engine), []);
  await clock.advance(1_001);
  const [second] = await take(engine, { lease_ms: 1_000 });
  assert.equal(second!.tries, 2);
  await engine.renewDeliveries([first!], 60_000);
  await clock.advance(1_001);
  assert.equal((await take(engine)).length, 1);
});

test('a claim with its delivery under way does not expire; one whose delivery is lost goes back to pending', async () => {
  const clock = new VirtualClock();
  const { engine, database } = await newBench({ clock, claimTimeoutMs: 1_000 });
  const { tasks } = await submitTasks(engine, [newTask({ actions: allActions })]);
  await engine.claimForDelivery('test', 1);
  await clock.advance(60_000);
  assert.equal((await engine.sweep()).requeued, 0);
  await database.query({ name: 'test.lose_delivery', text: 'delete from heddle.delivery' });
  await clock.advance(60_000);
  assert.equal((await engine.sweep()).requeued, 1);
  assert.equal((await engine.getTask(tasks[0]!.id))?.state, 'pending');
  assert.equal(await engine.claimForDelivery('test', 1), 1);
  assert.equal((await take(engine))[0]!.idempotency_key, `${tasks[0]!.id}:start:attempt-2`);
});

test('a cancel action that the start answer brings fires, also when the cancel came first', async () => {
  for (const cancelFirst of [false, true]) {
    const { bench, id, start } = await started();
    if (cancelFirst) await bench.engine.cancel([id]);
    await delivered(bench.engine, start, action('cancel', 2));
    if (!cancelFirst) await bench.engine.cancel([id]);
    const deliveries = await take(bench.engine);
    assert.deepEqual(
      deliveries.map((delivery) => [delivery.trigger, delivery.origin, delivery.idempotency_key]),
      [['cancel', 'http://127.0.0.1:2', `${id}:cancel`]],
    );
  }
});

test('a canceled task whose start was never tried is not started', async () => {
  const { engine } = await newBench();
  const { tasks } = await submitTasks(engine, [newTask({ actions: allActions })]);
  await engine.claimForDelivery('test', 1);
  await engine.cancel([tasks[0]!.id]);
  assert.deepEqual(await take(engine), []);
});

test('a canceled claim whose start was never tried, or came to nothing, frees its slot at once', async () => {
  for (const tried of [false, true]) {
    const { engine } = await newBench();
    const rules = [{ type: 'concurrency' as const, matcher: { kind: 'work', fields: [] }, max: 1 }];
    const { tasks } = await submitTasks(
      engine,
      Array.from({ length: 2 }, () => newTask({ actions: allActions, rules })),
    );
    assert.equal(await engine.claimForDelivery('test', 10), 1);
    const [start] = tried ? await take(engine) : [];
    await engine.cancel([tasks[0]!.id]);
    if (start !== undefined) {
      assert.equal(await engine.claimForDelivery('test', 10), 0, 'the try under way may have reached its target');
      const result = { id: start.id, tries: 1, status: null, error: 'refused' };
      await engine.settleDeliveries([{ ...result, outcome: 'retry', delay_ms: 1_000 }]);
    }
    assert.equal(await engine.claimForDelivery('test', 10), 1);
    assert.deepEqual(
      (await take(engine)).map((delivery) => delivery.task_id),
      [tasks[1]!.id],
    );
  }
});

test('claims are fair between origins and leave saturated ones alone', async () => {
  const { engine } = await newBench();
  await submitTasks(engine, [
    ...Array.from({ length: 30 }, () => newTask({ actions: [action('start', 1)] })),
    newTask({ actions: [action('start', 2)] }),
    newTask({ actions: [action('start', 3)] }),
  ]);
  await engine.claimForDelivery('test', 100);
  const taken = await take(engine, { limit_per_origin: 4, saturated_origins: ['http://127.0.0.1:3'] });
  const byOrigin = Map.groupBy(taken, (delivery) => delivery.origin);
  assert.deepEqual(
    [1, 2, 3].map((port) => byOrigin.get(`http://127.0.0.1:${port}`)?.length ?? 0),
    [4, 1, 0],
  );
});

test('dead deliveries are listed and can be replayed', async () => {
  const { bench, id, start } = await started();
  await delivered(bench.engine, start);
  await bench.engine.report([{ task_id: id, attempt: 1, outcome: 'failed', reason: 'broken' }]);
  const [end] = await take(bench.engine);
  await bench.engine.settleDeliveries([{ id: end!.id, tries: 1, outcome: 'dead', status: 500, error: 'HTTP 500' }]);
  const [dead] = await bench.engine.listDeliveries({ state: 'dead', offset: 0, limit: 10 });
  assert.deepEqual([dead?.id, dead?.last_status, dead?.last_error], [end!.id, 500, 'HTTP 500']);
  assert.equal(await bench.engine.replayDeliveries([end!.id]), 1);
  assert.equal(await bench.engine.replayDeliveries([end!.id]), 0);
  assert.equal((await take(bench.engine))[0]!.id, end!.id);
});

test('several actions of one trigger have keys of their own; a later attempt too', async () => {
  const { engine } = await newBench();
  const { tasks } = await submitTasks(engine, [newTask({ actions: [action('failure', 1), action('failure', 2)] })]);
  const id = tasks[0]!.id;
  for (const suffix of ['', ':attempt-2']) {
    const [claimed] = await engine.claim({ lanes: ['kind:work'], limit: 1, holder: 'test' });
    await engine.report([{ task_id: id, attempt: claimed!.attempt, outcome: 'failed' }]);
    const deliveries = await take(engine);
    assert.deepEqual(
      deliveries.map((delivery) => delivery.idempotency_key).sort(),
      [`${id}:end:failure${suffix}`, `${id}:end:failure:action-2${suffix}`].sort(),
    );
    await engine.retry([id]);
  }
});
