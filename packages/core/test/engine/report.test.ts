import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ClaimedTask } from '../../src/engine/port.ts';
import { VirtualClock } from '@heddle/base/clock';
import { createMetrics, type Metrics } from '../../src/metrics/metrics.ts';
import { newId } from '@heddle/base/random';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

test('a task that its counters kept alive for months ends like any other, with its whole set', async () => {
  const clock = new VirtualClock();
  const { engine } = await newBench({ clock });
  const { tasks } = await submitTasks(engine, [newTask(), newTask()]);
  const claimed = await claimKind(engine);
  await clock.advance(90 * 86_400_000);
  await succeed(engine, claimed);
  for (const { id } of tasks) assert.equal((await engine.getTask(id))?.state, 'succeeded');
});

async function valueOf({ registry }: Metrics, series: string): Promise<number> {
  const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

test('a failure that is retried is counted as a change of status, not as an end', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const { engine } = await newBench({ metrics });
  const retry = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
  await submitTasks(engine, [newTask({ retry }), newTask()]);
  const fail = async (): Promise<void> => {
    const claimed = await claimKind(engine);
    await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'failed' })));
  };
  const value = (series: string): Promise<number> => valueOf(metrics, series);
  await fail();
  assert.equal(await value('tasks_completed_total{outcome="failure",kind="work"}'), 1);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Pending"}'), 1);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Failure"}'), 1);
  await engine.sweep();
  await fail();
  assert.equal(await value('tasks_completed_total{outcome="failure",kind="work"}'), 2);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Failure"}'), 2);
});

test('the end of a parent is counted once for each child that it reaches, by how the parent ended', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const { engine } = await newBench({ metrics });
  const counted = async (): Promise<number[]> =>
    Promise.all(
      ['success', 'failure', 'canceled'].map((outcome) =>
        valueOf(metrics, `dependency_propagations_total{parent_outcome="${outcome}"}`),
      ),
    );
  const on = (...parents: number[]) => ({
    dependencies: parents.map((index) => ({ index, requires_success: true })),
  });
  // Alone: its end reaches no one.
  await submitTasks(engine, [newTask({ kind: 'alone' })]);
  await succeed(engine, await claimKind(engine, 'alone'));
  assert.deepEqual(await counted(), [0, 0, 0]);

  // One parent of three, and a fourth below two of those.
  await submitTasks(engine, [newTask(), newTask(on(0)), newTask(on(0)), newTask(on(0)), newTask(on(1, 2))]);
  await succeed(engine, await claimKind(engine));
  assert.deepEqual(await counted(), [3, 0, 0]);
  const [one, two, three] = await claimKind(engine);
  // Two ends in one set, of which one is a failure that goes down to its child.
  await engine.report([
    { task_id: one!.id, attempt: 1, outcome: 'failed' },
    { task_id: two!.id, attempt: 1, outcome: 'succeeded' },
    { task_id: three!.id, attempt: 1, outcome: 'succeeded' },
  ]);
  assert.deepEqual(await counted(), [4, 1, 0]);

  // A chain falls level by level, and one level further in another batch.
  const chain = await submitTasks(engine, [newTask(), newTask(on(0)), newTask(on(1))]);
  const [head, , tail] = chain.tasks.map(({ id }) => id);
  await submitTasks(engine, [newTask({ dependencies: [{ task_id: tail!, requires_success: true }] })]);
  await engine.cancel([head!]);
  assert.deepEqual(await counted(), [4, 2, 1]);
  await engine.sweep();
  assert.deepEqual(await counted(), [4, 3, 1]);
});

test('a failure that is final is not retried, whatever the policy allows', async () => {
  const { engine } = await newBench();
  const retry = { max_attempts: 3, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
  await submitTasks(engine, [newTask({ retry }), newTask({ retry })]);
  const [one, other] = (await claimKind(engine)) as [ClaimedTask, ClaimedTask];
  const failure = { outcome: 'failed', reason: 'the input is not valid' } as const;
  const outcomes = await engine.report([
    { ...failure, task_id: one.id, attempt: one.attempt, final: true },
    { ...failure, task_id: other.id, attempt: other.attempt },
  ]);
  assert.deepEqual(
    outcomes.map(({ result, state }) => [result, state]),
    [
      ['applied', 'failed'],
      ['retrying', 'pending'],
    ],
  );
});

test('a chain of 20,000 fails as a whole and reopens as a whole, within the time of one statement', async () => {
  const { engine } = await newBench();
  const depth = 20_000;
  const ids = Array.from({ length: depth }, () => newId());
  await submitTasks(
    engine,
    ids.map((id, n) => newTask({ id, dependencies: n === 0 ? [] : [{ index: n - 1, requires_success: true }] })),
  );
  const [first] = ids as [string];
  const last = ids.at(-1)!;
  const [head] = await claimKind(engine);
  await engine.report([{ task_id: head!.id, attempt: 1, outcome: 'failed' }]);
  const failed = await engine.getTask(last);
  assert.deepEqual([failed?.state, failed?.failure_reason?.includes(first)], ['failed', true]);
  // One that is named twice reopens once.
  await engine.retry([first, first]);
  assert.equal((await engine.getTask(last))?.state, 'waiting');
  const [again] = await claimKind(engine);
  await succeed(engine, [again!]);
  assert.deepEqual(
    (await claimKind(engine)).map(({ id }) => id),
    [ids[1]],
  );
});

test('a canceled generator that waits for its nodes holds no slot: no one is at work on it', async () => {
  const bench = await newBench();
  const matcher = { kind: 'MakeGenerator', fields: [] };
  const limited = newTask({ kind: 'MakeGenerator', rules: [{ type: 'concurrency', matcher, max: 1 }] });
  const leaf = { type: 'task', policy: 'FailOnFailure', disabled: false, generates: true } as const;
  const children = [limited, { ...limited, id: newId() }].map((task) => ({ ...leaf, task }));
  const root = { type: 'container', id: newId(), local_id: null, mode: 'parallel', policy: 'FailOnFailure' } as const;
  await bench.engine.submitWorkflows([
    { name: null, root: { ...root, children }, traceparent: null, idempotency: null, job_run_id: null },
  ]);
  const [first] = await claimKind(bench.engine, 'MakeGenerator');
  const announced = { task_id: first!.id, attempt: 1, outcome: 'succeeded', expected_created: 1 } as const;
  assert.equal((await bench.engine.report([announced]))[0]!.state, 'expanding');
  assert.deepEqual(await claimKind(bench.engine, 'MakeGenerator'), []);
  await bench.engine.cancel([first!.id]);
  assert.deepEqual(
    (await claimKind(bench.engine, 'MakeGenerator')).map(({ id }) => id),
    children.map(({ task }) => task.id).filter((id) => id !== first!.id),
  );
});
