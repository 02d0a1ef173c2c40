import assert from 'node:assert/strict';

import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { MessageQueue } from '@heddle/core/queue/port';
import type { Database, Statement } from '@heddle/core/store/database';
import { leftovers } from './audit.ts';
import { CHILDREN, isEmpty, UNITS, type ManagerWorld } from './manager-world.ts';

const OPEN: Statement = {
  name: 'audit.open_trees',
  text: `select w.id from unnest($1::uuid[]) w(id) left join workflow o on o.id = w.id
    where o.id is null or o.remaining > 0 or exists (select from finalization f where f.workflow_id = w.id)
    union all
    select j.id from recon.jobs j where j.name = $2 and not exists (
      select from recon.job_history h where h.job_id = j.id and h.completed_at is not null)`,
};

const JOB_RUNS: Statement = {
  name: 'audit.job_runs',
  text: `select h.state, h.counts from recon.jobs j join recon.job_history h on h.job_id = j.id where j.name = $1`,
};

const TASKS: Statement = {
  name: 'audit.tree_tasks',
  text: `select t.workflow_id, k.name as kind, t.state, t.attempt, t.success_count, d.data
    from task t join kind k on k.id = t.kind_id left join task_data d on d.task_id = t.id
    where t.workflow_id = any($1::uuid[])`,
};

const CONTAINERS: Statement = {
  name: 'audit.containers',
  text: `select workflow_id, state, open_generators from container where workflow_id = any($1::uuid[])`,
};

const TOLD: Statement = {
  name: 'audit.told',
  text: `select task_id, attempt, ordinal, action -> 'params' -> 'body' -> 'data' ->> 'text' as text
    from delivery where trigger = 'notify' and workflow_id = any($1::uuid[]) order by task_id`,
};

/** Nothing is delivered in these tests: sent notifications are removed before leftovers are counted. */
const TAKE_TOLD: Statement = {
  name: 'audit.take_told',
  text: `delete from delivery where trigger = 'notify' and workflow_id = any($1::uuid[])`,
};

interface TaskRow {
  workflow_id: string;
  kind: string;
  state: number;
  attempt: number;
  success_count: number;
  data: unknown;
}

/** Whether every workflow of the world has ended, and no one has anything left to do about it. */
export async function hasEnded(database: Database, queue: MessageQueue, world: ManagerWorld): Promise<boolean> {
  const open = await database.query(OPEN, [[...world.workflows], world.run]);
  return open.length === 0 && (await isEmpty(queue));
}

/** Holds what is stored against what a run without any crash leaves behind. */
export async function assertClean(database: Database, queue: MessageQueue, world: ManagerWorld): Promise<void> {
  const ids = [[...world.workflows]];
  const byWorkflow = Map.groupBy(await database.query<TaskRow>(TASKS, ids), ({ workflow_id }) => workflow_id);
  assert.equal(byWorkflow.size, world.workflows.length);
  for (const tasks of byWorkflow.values()) {
    const told = tasks.map((task) => tellOf(task)).sort();
    const made = Array.from({ length: CHILDREN }, () => 'made succeeded in attempt 1 {"by":1}');
    assert.deepEqual(told, [
      'choose succeeded in attempt 1 {"by":1}',
      `count succeeded in attempt 1 with ${UNITS} units`,
      'flaky succeeded in attempt 2',
      'gen succeeded in attempt 1',
      'last succeeded in attempt 1 {"by":1}',
      ...made,
      'never disabled in attempt 0',
    ]);
  }
  const containers = await database.query<{ state: number; open_generators: number }>(CONTAINERS, ids);
  assert.equal(containers.length, world.workflows.length * 5);
  assert.deepEqual(
    [...new Set(containers.map(({ state, open_generators }) => `${taskStateOf(state)} ${open_generators}`))].sort(),
    ['disabled 0', 'succeeded 0'],
  );
  const told = await database.query(TOLD, ids);
  const once = [...world.workflows].sort().map((task_id) => ({ task_id, attempt: 1, ordinal: 0, text: '1' }));
  assert.deepEqual(told, once, 'the end of each workflow is announced once');
  await database.query(TAKE_TOLD, ids);
  const runs = await database.query<{ state: string; counts: object }>(JOB_RUNS, [world.run]);
  assert.deepEqual(runs, [{ state: 'Succeeded', counts: { succeeded: 1 } }], 'the occurrence of the job ran once');
  const twice = [...world.starts].filter(([, times]) => times > 1);
  assert.deepEqual(twice, [], 'no attempt was started twice');
  assert.deepEqual(await leftovers(database), []);
  const dead = await queue.listDead(null, { offset: 0, limit: 1_000 });
  const ours = dead.filter(({ body }) => body.includes(world.run));
  assert.deepEqual(
    ours.map(({ body }) => body),
    [`{"run":"${world.run}"`],
    'what cannot be read is a dead letter, and nothing else is',
  );
}

function tellOf({ kind, state, attempt, success_count, data }: TaskRow): string {
  const name = kind.slice(0, kind.indexOf('-'));
  const units = success_count > 0 ? ` with ${success_count} units` : '';
  const result = data === null ? '' : ` ${JSON.stringify(data)}`;
  return `${name} ${taskStateOf(state) satisfies TaskState} in attempt ${attempt}${units}${result}`;
}
