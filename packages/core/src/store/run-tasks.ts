import { attemptOutcomeOf, type AttemptOutcome } from '@heddle/base/vocabulary/attempt';
import { modeOf, type ContainerMode } from '@heddle/base/vocabulary/workflow';
import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { numberArray, uuidArray } from './transitions.ts';

/** Steps of a chain of dependencies that are followed. */
const CHAIN_STEPS_MAX = 100_000;
const FETCHED_ROWS = 5000;
/** Earlier attempts that a task is shown with. */
const EARLIER_ATTEMPTS_MAX = 20;

/** The same task may be listed twice while it is archived. */
const TASK_NAMES: Statement = {
  name: 'runs.task_names',
  text: `select id, name from task_all where id = any($1::uuid[])`,
};

/** A few tasks of each of several runs, as stored: submitted ones before generated ones. */
const TASKS_OF_RUNS: Statement = {
  name: 'runs.tasks_of_runs',
  text: `select u.ord, t.id, t.local_id, t.name, k.name as kind, t.state, t.started_at, t.ended_at
    from unnest($1::uuid[]) with ordinality u(id, ord)
    cross join lateral (
      select t.id, t.local_id, t.name, t.kind_id, t.state, t.started_at, t.ended_at
      from task_all t where t.workflow_id = u.id limit $2) t
    join kind k on k.id = t.kind_id order by u.ord, t.id`,
};

export interface TaskOfRun {
  id: string;
  local_id: string | null;
  name: string;
  kind: string;
  state: TaskState;
  started_at: number | null;
  ended_at: number | null;
}

/** Returns the names of those of the tasks that exist, by id. */
export async function findTaskNames(queryable: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await queryable.query<{ id: string; name: string }>(TASK_NAMES, [uuidArray(ids)]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns tasks of each of these runs, in their order; at most `limit` of each. */
export async function findTasksOfRuns(
  queryable: Queryable,
  ids: readonly string[],
  limit: number,
): Promise<TaskOfRun[][]> {
  type Row = Omit<TaskOfRun, 'state'> & { ord: number; state: number };
  const found: TaskOfRun[][] = ids.map(() => []);
  for (const { ord, ...row } of await queryable.query<Row>(TASKS_OF_RUNS, [uuidArray(ids), limit])) {
    found[ord - 1]!.push({ ...row, state: taskStateOf(row.state) });
  }
  return found;
}

const containersOf = (name: string, table: string): Statement => ({
  name,
  text: `with recursive tree as (
      select c.*, 0 as level from ${table} c where c.id = $1
      union all
      select c.*, tree.level + 1 from tree join ${table} c on c.parent_id = tree.id)
    select c.id, c.parent_id, c.mode, c.state, c.local_id, c.created_at, c.started_at, c.ended_at
    from (select * from tree limit $2) c order by c.level, c.parent_id, c.position`,
});

const CONTAINERS = containersOf('runs.containers', 'container');
const ARCHIVED_CONTAINERS = containersOf('runs.archived_containers', 'archive_container');

export interface ContainerOfRun {
  id: string;
  parent_id: string | null;
  mode: ContainerMode;
  state: TaskState;
  local_id: string | null;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

/** Returns the containers of a tree, level by level; at most `limit`, those nearest to the root. */
export async function findContainersOfRun(
  queryable: Queryable,
  run: { id: string; archived: boolean },
  limit: number,
): Promise<ContainerOfRun[]> {
  type Row = Omit<ContainerOfRun, 'mode' | 'state'> & { mode: number; state: number };
  const rows = await queryable.query<Row>(run.archived ? ARCHIVED_CONTAINERS : CONTAINERS, [run.id, limit]);
  return rows.map((row) => ({ ...row, mode: modeOf(row.mode), state: taskStateOf(row.state) }));
}

const lastTasksOf = (name: string, table: string): Statement => ({
  name,
  text: `select distinct on (t.container_id) t.container_id, t.id, t.ended_at from ${table} t
    where t.workflow_id = $1 and t.container_id = any($2::uuid[]) and t.started_at is not null and t.ended_at is not null
    order by t.container_id, t.ended_at desc, t.id`,
});

const LAST_TASKS = lastTasksOf('runs.last_tasks', 'task');
const ARCHIVED_LAST_TASKS = lastTasksOf('runs.archived_last_tasks', 'archive_task');

/** Returns the task of each of these containers of a run that ended last. */
export function findLastTasks(
  queryable: Queryable,
  run: { id: string; archived: boolean },
  containers: readonly string[],
): Promise<{ container_id: string; id: string; ended_at: number }[]> {
  return queryable.query(run.archived ? ARCHIVED_LAST_TASKS : LAST_TASKS, [run.id, uuidArray(containers)]);
}

/** Backwards from the task that ended last: each step to the dependency that ended last, as the last gate to close. */
const chainOf = (name: string, tasks: string, edges: string): Statement => ({
  name,
  text: `with recursive chain as (
      (select t.id, 1 as step from ${tasks} t where t.workflow_id = $1 and t.started_at is not null and t.ended_at is not null
       order by t.ended_at desc, t.id limit 1)
      union all
      select p.id, c.step + 1 from chain c cross join lateral (
        select t.id from ${edges} e join ${tasks} t on t.id = e.parent_id
        where e.child_id = c.id and t.workflow_id = $1 and t.started_at is not null and t.ended_at is not null
        order by t.ended_at desc, t.id limit 1) p
      where c.step < ${CHAIN_STEPS_MAX})
    select id from chain`,
});

const CHAIN = chainOf('runs.chain', 'task', 'edge');
const ARCHIVED_CHAIN = chainOf('runs.archived_chain', 'archive_task', 'archive_edge');

/** Returns the chain of tasks of a batch that determined its end. */
export async function findChain(queryable: Queryable, run: { id: string; archived: boolean }): Promise<Set<string>> {
  const rows = await queryable.query<{ id: string }>(run.archived ? ARCHIVED_CHAIN : CHAIN, [run.id]);
  return new Set(rows.map(({ id }) => id));
}

/** Dependencies are compared by a hash, whatever their number. */
const signatureOf = (edges: string): string =>
  `coalesce((select count(*) || ':' || bit_xor(hashtextextended(e.parent_id::text, 0)) from ${edges} e where e.child_id = t.id), '')`;

const declareTasks = (name: string, tasks: string, edges: string, linked: boolean): Statement => ({
  name: `runs.declare_${name}`,
  text: `declare tasks_of_run no scroll cursor for
    select t.id, t.container_id, t.name, k.name as kind, t.state, t.attempt, t.created_at, t.run_at, t.claimed_at,
      t.started_at, t.ended_at, ${linked ? signatureOf(edges) : `''`} as dependencies
    from ${tasks} t join kind k on k.id = t.kind_id where t.workflow_id = $1`,
});

const DECLARE = {
  batch: {
    live: declareTasks('batch', 'task', 'edge', true),
    archived: declareTasks('archived_batch', 'archive_task', 'archive_edge', true),
  },
  workflow: {
    live: declareTasks('workflow', 'task', 'edge', false),
    archived: declareTasks('archived_workflow', 'archive_task', 'archive_edge', false),
  },
} as const;

const FETCH: Statement = { name: 'runs.fetch', text: `fetch ${FETCHED_ROWS} from tasks_of_run` };
const CLOSE: Statement = { name: 'runs.close', text: 'close tasks_of_run' };

export interface StreamedTask {
  id: string;
  container_id: string | null;
  name: string;
  kind: string;
  state: TaskState;
  attempt: number;
  created_at: number;
  run_at: number | null;
  claimed_at: number | null;
  started_at: number | null;
  ended_at: number | null;
  /** The same for tasks of a batch with the same dependencies. */
  dependencies: string;
}

/** Yields all tasks of a run, some thousand at a time. Needs a transaction. */
export async function* streamTasks(
  tx: Queryable,
  run: { id: string; archived: boolean; type: 'batch' | 'workflow' },
): AsyncGenerator<StreamedTask> {
  await tx.query(DECLARE[run.type][run.archived ? 'archived' : 'live'], [run.id]);
  for (;;) {
    const rows = await tx.query<Omit<StreamedTask, 'state'> & { state: number }>(FETCH);
    for (const row of rows) yield { ...row, state: taskStateOf(row.state) };
    if (rows.length < FETCHED_ROWS) break;
  }
  await tx.query(CLOSE);
}

const ATTEMPTS: Statement = {
  name: 'runs.attempts',
  text: `select t.id as task_id, a.attempt, a.claimed_at, a.started_at, a.ended_at, a.outcome
    from unnest($1::uuid[], $2::integer[]) t(id, last) cross join lateral (
      select k.* from (
        select k.attempt, k.claimed_at, k.started_at, k.ended_at, k.outcome from task_attempt k where k.task_id = t.id
        union all
        select k.attempt, k.claimed_at, k.started_at, k.ended_at, k.outcome from archive_task_attempt k
        where k.task_id = t.id) k
      where k.attempt < t.last order by k.attempt desc limit ${EARLIER_ATTEMPTS_MAX}) a
    order by t.id, a.attempt`,
};

export interface AttemptTimes {
  attempt: number;
  claimed_at: number | null;
  started_at: number | null;
  ended_at: number | null;
  outcome: AttemptOutcome | null;
}

/** Returns the attempts of tasks before their last ones, oldest first; of each the latest. */
export async function findEarlierAttempts(
  queryable: Queryable,
  tasks: readonly { id: string; attempt: number }[],
): Promise<Map<string, AttemptTimes[]>> {
  const found = new Map<string, AttemptTimes[]>();
  if (tasks.length === 0) return found;
  type Row = Omit<AttemptTimes, 'outcome'> & { task_id: string; outcome: number };
  const values = [uuidArray(tasks.map(({ id }) => id)), numberArray(tasks.map(({ attempt }) => attempt))];
  for (const { task_id, outcome, ...row } of await queryable.query<Row>(ATTEMPTS, values)) {
    const attempts = found.get(task_id) ?? [];
    attempts.push({ ...row, outcome: attemptOutcomeOf(outcome) });
    found.set(task_id, attempts);
  }
  return found;
}
