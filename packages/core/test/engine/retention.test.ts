import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { NewTask } from '@heddle/base/vocabulary/task';
import { VirtualClock } from '@heddle/base/clock';
import { claimKind, drain, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

async function benchInTime(): Promise<Bench & { clock: VirtualClock }> {
  const clock = new VirtualClock();
  return { ...(await newBench({ clock })), clock };
}

function second(): NewTask {
  return newTask({ name: 'second', dependencies: [{ index: 0, requires_success: true }] });
}

test('ended workflows move to the archive after an hour, stay readable, and are deleted after thirty days', async () => {
  const { engine, clock } = await benchInTime();
  const ended = await submitTasks(engine, [newTask({ name: 'first' }), second()]);
  assert.equal(await drain(engine), 2);
  const open = await submitTasks(engine, [newTask()]);

  assert.deepEqual(await engine.retain(1_000), { archived: 0, deleted: 0 });
  await clock.advance(HOUR_MS + 1);
  assert.deepEqual(await engine.retain(1_000), { archived: 2, deleted: 0 });
  assert.deepEqual(await engine.retain(1_000), { archived: 0, deleted: 0 });

  const dag = await engine.getDag(ended.workflow_id);
  assert.deepEqual(
    dag?.tasks.map((task) => [task.name, task.state, task.archived]),
    [
      ['first', 'succeeded', true],
      ['second', 'succeeded', true],
    ],
  );
  assert.equal(dag.dependencies.length, 1);
  assert.equal((await engine.getTask(ended.tasks[0]!.id))?.archived, true);
  assert.equal((await engine.listTasks({ offset: 0, limit: 10 })).tasks.length, 3);
  assert.equal((await engine.listWorkflows({ offset: 0, limit: 10 })).workflows.length, 2);
  assert.equal((await engine.getWorkflow(open.workflow_id))?.archived, false);

  await clock.advance(30 * DAY_MS);
  assert.deepEqual(await engine.retain(1_000), { archived: 0, deleted: 2 });
  assert.equal(await engine.getDag(ended.workflow_id), null);
  assert.notEqual(await engine.getDag(open.workflow_id), null);
});

test('a retry brings a workflow back from the archive with everything it needs to go on', async () => {
  const { engine, clock } = await benchInTime();
  const retry = { max_attempts: 1, base_ms: 1, factor: 1, max_ms: 1, jitter: 0 };
  const result = await submitTasks(engine, [newTask({ retry, metadata: { kept: true } }), second()]);
  const [failing] = await claimKind(engine);
  await engine.report([{ task_id: failing!.id, attempt: 1, outcome: 'failed', reason: 'no luck' }]);
  await clock.advance(2 * HOUR_MS);
  assert.equal((await engine.retain(1_000)).archived, 2);

  const [outcome] = await engine.retry([failing!.id]);
  assert.deepEqual([outcome?.result, outcome?.state], ['applied', 'pending']);
  assert.equal(await drain(engine), 2);
  const dag = await engine.getDag(result.workflow_id);
  assert.deepEqual(
    dag?.tasks.map((task) => [task.state, task.attempt, task.archived]),
    [
      ['succeeded', 2, false],
      ['succeeded', 1, false],
    ],
  );
  assert.deepEqual((await engine.getTask(failing!.id))?.metadata, { kept: true });
  assert.deepEqual((await engine.getTask(failing!.id))?.retry, retry);
  await clock.advance(2 * HOUR_MS);
  assert.equal((await engine.retain(1_000)).archived, 2);
});

test('a workflow whose deliveries are under way waits, and does not keep later ones from the archive', async () => {
  const { engine, clock } = await benchInTime();
  const action = { trigger: 'success' as const, params: { url: 'http://127.0.0.1:9/x', verb: 'Post' as const } };
  const waiting = await submitTasks(engine, [newTask({ actions: [action] })]);
  const plain = await submitTasks(engine, [newTask()]);
  assert.equal(await drain(engine), 2);
  await clock.advance(2 * HOUR_MS);
  assert.equal((await engine.retain(1)).archived, 1);
  assert.equal((await engine.getWorkflow(waiting.workflow_id))?.archived, false);
  assert.equal((await engine.getWorkflow(plain.workflow_id))?.archived, true);

  const request = { holder: 'test', limit: 10, limit_per_origin: 10, saturated_origins: [], lease_ms: 1_000 };
  const [delivery] = await engine.claimDeliveries(request);
  await engine.settleDeliveries([{ id: delivery!.id, tries: 1, outcome: 'delivered', status: 200 }]);
  assert.equal((await engine.retain(10)).archived, 1);
});

test('dedupe by a terminal state sees the archive', async () => {
  const { engine, clock } = await benchInTime();
  const dedupe = [{ kind: 'work', states: ['succeeded' as const], fields: ['key'] }];
  const first = await submitTasks(engine, [newTask({ metadata: { key: 7 }, dedupe })]);
  await drain(engine);
  await clock.advance(2 * HOUR_MS);
  assert.equal((await engine.retain(10)).archived, 1);
  const again = await submitTasks(engine, [
    newTask({ metadata: { key: 7 }, dedupe }),
    newTask({ kind: 'child', dependencies: [{ index: 0, requires_success: true }] }),
  ]);
  assert.equal(again.tasks[0]!.deduplicated_to, first.tasks[0]!.id);
  assert.equal(again.tasks[1]!.state, 'pending');
});
