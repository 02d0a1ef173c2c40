import assert from 'node:assert/strict';

import { taskStateOf } from '@heddle/base/vocabulary/task-state';
import type { Database, Statement } from '@heddle/core/store/database';
import { assertSlotsAddUp, leftovers } from './audit.ts';
import { COUNTED_UNITS, OUTCOMES, UNKEYED_UNITS } from './crash-scenario.ts';
import { groupBy } from './intervals.ts';
import type { Journal } from './journal.ts';

const UNFINISHED: Statement = {
  name: 'audit.unfinished',
  text: `select w.id from workflow w where w.name like '% ' || $1 and (w.remaining > 0
    or exists (select 1 from delivery d where d.workflow_id = w.id and d.state in ('held', 'due')))`,
};

const TASKS: Statement = {
  name: 'audit.scenario_tasks',
  text: `select t.id, t.workflow_id, t.name, t.state, t.attempt, t.success_count, t.metadata, td.data as result
    from task t left join task_data td on td.task_id = t.id where t.metadata ->> 'run' = $1`,
};

const WORKFLOWS: Statement = {
  name: 'audit.scenario_workflows',
  text: `select id, name from workflow where name like '% ' || $1`,
};

/** Whether all workflows of a run have ended, and their webhooks were taken. */
export async function finishedIn(database: Database, run: string): Promise<boolean> {
  return (await database.query(UNFINISHED, [run])).length === 0;
}

interface ScenarioTask {
  id: string;
  workflow_id: string;
  name: string;
  state: number;
  attempt: number;
  success_count: number;
  metadata: Record<string, unknown>;
  result: unknown;
}

/** Compares the stored end of the scenario with what was sent outside. */
export async function assertVerdict(database: Database, journal: Journal, run: string): Promise<void> {
  await assertSubmissions(database, journal, run);
  const tasks = await database.query<ScenarioTask>(TASKS, [run]);
  const acknowledged = new Set(journal.submitted.values());
  // A submission without a key that no one acknowledged may be stored beside its repetition.
  const known = tasks.filter((task) => acknowledged.has(task.workflow_id));
  assert.deepEqual(known.map(({ name }) => name).sort(), Object.keys(OUTCOMES).sort(), 'every task once');
  for (const task of known) {
    const expected = OUTCOMES[task.name]!;
    assert.equal(taskStateOf(task.state), expected.state, task.name);
    if (expected.attempt !== undefined) assert.equal(task.attempt, expected.attempt, `attempts of ${task.name}`);
    assertEnds(task, journal);
    assertEffects(task, journal);
  }
  assertStarts(journal);
  await assertSlotsAddUp(database);
  assert.deepEqual(await leftovers(database), []);
}

async function assertSubmissions(database: Database, journal: Journal, run: string): Promise<void> {
  const stored = await database.query<{ id: string; name: string }>(WORKFLOWS, [run]);
  for (const [name, id] of journal.submitted) {
    const same = stored.filter((workflow) => workflow.name === `${name} ${run}`);
    assert.ok(
      same.some((workflow) => workflow.id === id),
      `the acknowledged submission "${name}" exists`,
    );
    if (name !== 'plain') assert.equal(same.length, 1, `the submission "${name}" exists once`);
  }
}

function assertEnds(task: ScenarioTask, journal: Journal): void {
  const ended = journal.all('ended').filter((end) => end.task_id === task.id);
  const keys = groupBy(ended, (end) => end.trigger);
  assert.deepEqual([...keys.keys()], [...OUTCOMES[task.name]!.ends], `what the end of ${task.name} told`);
  for (const [trigger, ends] of keys) {
    const suffix = task.attempt > 1 ? `:attempt-${task.attempt}` : '';
    const key = trigger === 'cancel' ? `${task.id}:cancel` : `${task.id}:end:${trigger}`;
    assert.deepEqual([...new Set(ends.map((end) => end.key))], [`${key}${suffix}`]);
  }
}

function assertEffects(task: ScenarioTask, journal: Journal): void {
  const counted = (part: string): number => journal.counted.get(`${task.id}/${part}`) ?? 0;
  switch (task.name) {
    case 'counted':
      assert.equal(counted('one') + counted('two'), COUNTED_UNITS);
      assert.equal(task.success_count, COUNTED_UNITS, 'acknowledged counts, each once');
      assert.equal(task.metadata['seen'], true);
      break;
    case 'unkeyed':
      assert.ok([counted('unkeyed'), UNKEYED_UNITS].includes(task.success_count), 'acknowledged counts, each once');
      break;
    case 'paused':
      assert.equal(task.metadata['went'], 'on');
      break;
    case 'local':
      assert.deepEqual(task.result, { by: task.attempt }, 'the result of the attempt that ended it');
      break;
  }
}

/** Each attempt has one key, however often its start was sent. */
function assertStarts(journal: Journal): void {
  for (const starts of groupBy(journal.all('started'), (start) => `${start.task_id}/${start.attempt}`).values()) {
    assert.equal(new Set(starts.map(({ key }) => key)).size, 1);
  }
}
