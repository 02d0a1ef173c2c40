import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '../../src/runtime/clock.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { claimKind, newBench, newTask, submitTasks, succeed } from './fixture.ts';

test('a task that its counters kept alive for months ends like any other, with its whole set', async () => {
  const clock = new VirtualClock();
  const { engine } = await newBench({ clock });
  const { tasks } = await submitTasks(engine, [newTask(), newTask()]);
  const claimed = await claimKind(engine);
  await clock.advance(90 * 86_400_000);
  await succeed(engine, claimed);
  for (const { id } of tasks) assert.equal((await engine.getTask(id))?.state, 'succeeded');
});

test('a failure that is tried again is counted as a change of status, not as an end', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const { engine } = await newBench({ metrics });
  const retry = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
  await submitTasks(engine, [newTask({ retry }), newTask()]);
  const fail = async (): Promise<void> => {
    const claimed = await claimKind(engine);
    await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'failed' })));
  };
  const value = async (series: string): Promise<number> => {
    const line = (await metrics.registry.metrics()).split('\n').find((text) => text.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? 0);
  };
  await fail();
  assert.equal(await value('tasks_completed_total{outcome="failure",kind="work"}'), 1);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Pending"}'), 1);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Failure"}'), 1);
  await engine.sweep();
  await fail();
  assert.equal(await value('tasks_completed_total{outcome="failure",kind="work"}'), 2);
  assert.equal(await value('task_status_transitions_total{from_status="Running",to_status="Failure"}'), 2);
});
