import { TASK_STATE_CODE, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { TASK_COLUMNS, type TaskRecord } from './task-reads.ts';
import { numberArray } from './transitions.ts';

const EXAMINED_TASKS_MAX = 20_000;
/** Open tasks that are listed from the tables of open tasks; where there are more, all tasks are searched. */
const OPEN_TASKS_MAX = 10_000;

export interface TaskQuery {
  states: readonly TaskState[] | undefined;
  kindIds: readonly number[] | null;
  name: string | undefined;
  workflowId: string | undefined;
  metadata: string | null;
  /** Only tasks with lower ids. */
  after: string | undefined;
  limit: number;
  offset: number;
  /** Tasks that one page examines beside those it skips, if no index leads to those wanted. */
  examinedMax?: number;
}

export interface TaskRecords {
  rows: TaskRecord[];
  /** Id after which the next page begins; null if there are no more. */
  next: string | null;
}

/** Where open tasks are found: their ids, which may name others, too, and how many they are at most. */
interface OpenTasks {
  key: string;
  ids: string;
  count: string;
}

const fromTables = (key: string, ids: string): OpenTasks => ({
  key,
  ids,
  count: `select count(*) as n from (${ids} limit ${OPEN_TASKS_MAX + 1}) x`,
});

const IN_FLIGHT = fromTables('in_flight', 'select u.id from lease l cross join unnest(l.task_ids) u(id)');
const PAUSED = fromTables('paused', 'select task_id as id from paused_task');
const QUEUED = fromTables(
  'queued',
  `select task_id as id from ready union all select task_id from blocked union all select task_id from delayed`,
);
/** No table names waiting tasks, but they are in runs that have not ended. */
const WAITING: OpenTasks = {
  key: 'waiting',
  ids: `select t.id from workflow w
    cross join lateral (select t.id from task t where t.workflow_id = w.id offset 0) t where w.ended_at is null`,
  count: `select coalesce(sum(w.task_count), 0) as n from (
    select task_count from workflow where ended_at is null limit ${OPEN_TASKS_MAX + 1}) w`,
};

const OPEN_TASKS: Readonly<Partial<Record<TaskState, OpenTasks>>> = {
  waiting: WAITING,
  pending: QUEUED,
  claimed: IN_FLIGHT,
  running: IN_FLIGHT,
  expanding: IN_FLIGHT,
  paused: PAUSED,
};

/** Returns where the tasks of these states are found; null if some have no such place. */
function openTasksOf(states: readonly TaskState[] | undefined): OpenTasks[] | null {
  const places = (states ?? []).map((state) => OPEN_TASKS[state]);
  if (places.length === 0 || places.includes(undefined)) return null;
  return [...new Set(places as OpenTasks[])];
}

/** Conditions on `t`: only those in use are in a statement, whose name has their keys. */
const FILTERS = {
  s: (at: string) => `(t.state + 0) = any(${at}::smallint[])`,
  k: (at: string) => `t.kind_id = any(${at}::integer[])`,
  n: (at: string) => `position(lower(${at}::text) in lower(t.name)) > 0`,
  m: (at: string) => `t.metadata @> ${at}::jsonb`,
} as const;

type Filter = keyof typeof FILTERS;

/** The texts of a query's conditions, with the parameters from `$3` on; `$1` and `$2` are limit and offset. */
interface Conditions {
  key: string;
  filters: string[];
  after: string | null;
  workflow: string | null;
  values: unknown[];
}

function conditionsOf(query: TaskQuery): Conditions {
  const { states, kindIds, name, metadata, after, workflowId } = query;
  const given: Readonly<Record<Filter, unknown>> = {
    s: states === undefined ? null : numberArray(states.map((state) => TASK_STATE_CODE[state])),
    k: kindIds === null ? null : numberArray(kindIds),
    n: name ?? null,
    m: metadata,
  };
  const present = (Object.keys(FILTERS) as Filter[]).filter((filter) => given[filter] !== null);
  const values: unknown[] = present.map((filter) => given[filter]);
  const parameter = (value: unknown): string => `$${values.push(value) + 2}`;
  return {
    key: [...present, ...(after === undefined ? [] : ['after'])].join('.'),
    filters: present.map((filter, index) => FILTERS[filter](`$${index + 3}`)),
    after: after === undefined ? null : `t.id < ${parameter(after)}::uuid`,
    workflow: workflowId === undefined ? null : `t.workflow_id = ${parameter(workflowId)}::uuid`,
    values,
  };
}

function whereAll(conditions: readonly (string | null)[]): string {
  const present = conditions.filter((condition) => condition !== null);
  return present.length === 0 ? '' : `where ${present.join(' and ')}`;
}

/** Columns and kinds for one page of tasks. */
const pageOf = (tasks: string): string => `select ${TASK_COLUMNS}
    from (select t.* from ${tasks} order by t.id desc limit $1 offset $2) t join kind k on k.id = t.kind_id
    order by t.id desc`;

/** "offset 0" keeps the planner from searching all tasks, newest first, for those of the run. */
const ofWorkflow = ({ filters, after, workflow }: Conditions): string =>
  pageOf(`(select * from task_all t where ${workflow} offset 0) t ${whereAll([...filters, after])}`);

/** Tasks that the page skips are counted in the index of their ids, which has a fraction of the pages of their rows. */
const all = ({ after }: Conditions): string => `select ${TASK_COLUMNS}
    from (select t.* from task_all t
      where t.id <= (select t.id from task_all t ${whereAll([after])} order by t.id desc limit 1 offset $2)
      order by t.id desc limit $1) t join kind k on k.id = t.kind_id
    order by t.id desc`;

const open = ({ filters, after }: Conditions, places: readonly OpenTasks[]): string =>
  pageOf(`(select distinct id from (${places.map(({ ids }) => ids).join(' union all ')}) o) o
    cross join lateral (select t.*, false as archived from task t where t.id = o.id offset 0) t
    ${whereAll([...filters, after])}`);

/**
 * Examines tasks one by one; a page that is not full has the last id that it examined, unless that was the last of all.
 * @param max the parameter that says how many
 */
function searched({ filters, after }: Conditions, max: string): string {
  const newest = `task_all t ${whereAll([after])} order by t.id desc`;
  return `with page as materialized (
      select * from (select * from ${newest} limit ${max}::bigint + $2) t ${whereAll(filters)}
      order by t.id desc limit $1 offset $2
    ), examined as (
      select case when (select count(*) from page) < $1 then (
        select t.id from ${newest} offset ${max}::bigint + $2 - 1 limit 1) end as last_id
    )
    select ${TASK_COLUMNS}, e.last_id
    from examined e left join page t on true left join kind k on k.id = t.kind_id order by t.id desc`;
}

const statement = (name: string, key: string, text: string): Statement => ({
  name: `tasks.${name}${key === '' ? '' : `.${key}`}`,
  text,
});

/** Returns one page of tasks, newest first. A page that is not full may have a successor. */
export async function findTasks(queryable: Queryable, query: TaskQuery): Promise<TaskRecords> {
  const conditions = conditionsOf(query);
  const { key, filters, workflow } = conditions;
  const values = [query.limit + 1, query.offset, ...conditions.values];
  const read = async (name: string, text: string): Promise<TaskRecords> =>
    full(await queryable.query<TaskRecord>(statement(name, key, text), values), query.limit);
  if (workflow !== null) return read('list_in_workflow', ofWorkflow(conditions));
  if (filters.length === 0) return read('list', all(conditions));
  const places = openTasksOf(query.states);
  if (places !== null && (await areFew(queryable, places))) {
    return read(`list_${places.map((place) => place.key).join('_')}`, open(conditions, places));
  }
  type Row = Omit<TaskRecord, 'id'> & { id: string | null; last_id: string | null };
  const text = searched(conditions, `$${values.length + 1}`);
  const examinedMax = query.examinedMax ?? EXAMINED_TASKS_MAX;
  const rows = await queryable.query<Row>(statement('search', key, text), [...values, examinedMax]);
  const { rows: found, next } = full(
    rows.filter((row): row is TaskRecord & Row => row.id !== null),
    query.limit,
  );
  return { rows: found, next: next ?? rows[0]?.last_id ?? null };
}

/** One row more than `limit` was read, if there is one. */
function full(rows: readonly TaskRecord[], limit: number): TaskRecords {
  return { rows: rows.slice(0, limit), next: rows.length > limit ? rows[limit - 1]!.id : null };
}

async function areFew(queryable: Queryable, places: readonly OpenTasks[]): Promise<boolean> {
  let total = 0;
  for (const { key, count } of places) {
    total += (await queryable.query<{ n: number }>(statement(`count_${key}`, '', count), []))[0]!.n;
    if (total > OPEN_TASKS_MAX) return false;
  }
  return true;
}
