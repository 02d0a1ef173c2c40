import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';

/** Tasks, models and findings that a search looks at, the newest of each. */
const SEARCHED_ROWS_MAX = 10_000;

const RUNS_BY_ID: Statement = {
  name: 'search.runs_by_id',
  text: `select id from workflow_all where id >= $1::uuid and id <= $2::uuid order by id limit $3`,
};

const TASKS_BY_ID: Statement = {
  name: 'search.tasks_by_id',
  text: `select t.id, t.name as title, k.name as detail, t.state from (
      select id, name, kind_id, state from task_all where id >= $1::uuid and id <= $2::uuid order by id limit $3) t
    join kind k on k.id = t.kind_id`,
};

const TASKS_BY_NAME: Statement = {
  name: 'search.tasks_by_name',
  text: `select t.id, t.name as title, k.name as detail, t.state, t.nth from (
      select t.*, row_number() over (order by t.id desc) as nth
      from (select id, name, kind_id, state from task_all order by id desc limit ${SEARCHED_ROWS_MAX}) t) t
    join kind k on k.id = t.kind_id
    where position(lower($1) in lower(t.name)) > 0 order by t.id desc limit $2`,
};

const named = (name: string, text: string): Statement => ({ name, text });

/** Types of named things beside runs and tasks, each with a statement that finds some by part of their names. */
const NAMED = {
  job: named(
    'search.job',
    `select id::text, name as title, cron as detail, case when paused then 'Paused' end as state from recon.jobs
    where position(lower($1) in lower(name)) > 0 or id::text = lower($1) order by length(name), name limit $2`,
  ),
  kind: named(
    'search.kind',
    `select name as id, name as title, null as detail, null as state from kind
    where position(lower($1) in lower(name)) > 0 order by length(name), name limit $2`,
  ),
  worker: named(
    'search.worker',
    `select holder as id, holder as title, null as detail, null as state from claimer
    where position(lower($1) in lower(holder)) > 0 group by holder order by max(seen_at) desc limit $2`,
  ),
  rule: named(
    'search.rule',
    `select name as id, name as title, body ->> 'type' as detail, null as state from definition
    where type = 'rule' and position(lower($1) in lower(name)) > 0 order by length(name), name limit $2`,
  ),
  model: named(
    'search.model',
    `select m.id::text, m.key as title, m.model as detail, m.state from (
      select * from recon.models order by id desc limit ${SEARCHED_ROWS_MAX}) m
    where m.model in ('host', 'service', 'certificate') and position(lower($1) in lower(m.key)) > 0
    order by m.id desc limit $2`,
  ),
  finding: named(
    'search.finding',
    `select f.id::text, f.description as title, f.path as detail, f.state from (
      select * from recon.findings order by id desc limit ${SEARCHED_ROWS_MAX}) f
    where position(lower($1) in lower(f.path)) > 0 or position(lower($1) in lower(f.rule_id)) > 0
    order by f.id desc limit $2`,
  ),
  runner: named(
    'search.runner',
    `select r.id::text, coalesce(r.provider_id, r.id::text) as title, r.provider as detail, null as state from runner r
    where r.gone_at is null and (starts_with(r.id::text, lower($1)) or position(lower($1) in lower(r.provider_id)) > 0)
    order by r.id desc limit $2`,
  ),
} as const;

type NamedType = keyof typeof NAMED;

export interface FoundTask {
  id: string;
  title: string;
  detail: string;
  state: TaskState;
}

export interface FoundName {
  type: NamedType;
  id: string;
  title: string;
  detail: string | null;
  state: string | null;
}

/** Ids from and to which a search is for. */
export interface IdRange {
  from: string;
  to: string;
}

export async function findRunIds(queryable: Queryable, { from, to }: IdRange, limit: number): Promise<string[]> {
  return (await queryable.query<{ id: string }>(RUNS_BY_ID, [from, to, limit])).map(({ id }) => id);
}

type TaskRow = Omit<FoundTask, 'state'> & { state: number };

export async function findTasksInRange(
  queryable: Queryable,
  { from, to }: IdRange,
  limit: number,
): Promise<FoundTask[]> {
  return (await queryable.query<TaskRow>(TASKS_BY_ID, [from, to, limit])).map(foundTask);
}

/** Returns the newest tasks with this part in their names, and how many were examined. */
export async function findTasksNamed(
  queryable: Queryable,
  text: string,
  limit: number,
): Promise<{ tasks: FoundTask[]; examined: number }> {
  const rows = await queryable.query<TaskRow & { nth: number }>(TASKS_BY_NAME, [text, limit]);
  const examined = rows.length === limit ? rows.at(-1)!.nth : SEARCHED_ROWS_MAX;
  return { tasks: rows.map(foundTask), examined };
}

function foundTask({ id, title, detail, state }: TaskRow): FoundTask {
  return { id, title, detail, state: taskStateOf(state) };
}

/** Returns jobs, kinds, workers and so on with this part in their names, at most `limit` of each type. */
export async function findNamed(queryable: Queryable, text: string, limit: number): Promise<FoundName[]> {
  const found: FoundName[] = [];
  for (const type of Object.keys(NAMED) as NamedType[]) {
    const rows = await queryable.query<Omit<FoundName, 'type'>>(NAMED[type], [text, limit]);
    found.push(...rows.map((row) => ({ type, ...row })));
  }
  return found;
}
