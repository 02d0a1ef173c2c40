import type { RunState, RunType } from '@heddle/base/vocabulary/run';
import { TASK_STATE_CODE } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import {
  RUN_BASE,
  RUN_COLUMNS,
  RUN_COUNTS,
  RUN_JOINS,
  RUN_START,
  stateOf,
  type RunRecord,
  type RunStateRecord,
} from './run-columns.ts';

/** Runs that one page examines, if an index does not lead to those wanted. */
const EXAMINED_RUNS_MAX = 5000;
/** Tasks that one page examines, if runs are searched for the metadata of their tasks; of one run all. */
const EXAMINED_TASKS_MAX = 100_000;
/** Runs of a job that are listed, its latest. */
const RUNS_OF_JOB_MAX = 10_000;
/** Failures of one kind and reason that are followed to their runs, the latest. */
const FAILURES_MAX = 10_000;

/** How long after its id was made a run may be stored, for a search by time to find it. */
const STORED_WITHIN_MS = 86_400_000;
const CLOCKS_DIFFER_MS = 600_000;
/** Of 48 bits. */
const MAX_ID_TIME = 2 ** 48 - 1;

export interface RunFilter {
  /** `open`: with open tasks; `failing`: with failed ones, whether it has ended or not. */
  state?: RunState | 'open' | 'failing' | undefined;
  name?: string | undefined;
  /** Part of the name, case-insensitive. */
  q?: string | undefined;
  type?: RunType | undefined;
  kind_id?: number | undefined;
  job?: { id: string | null; name: string } | undefined;
  /** As stored: runs with tasks that failed alike. */
  fingerprint?: string | undefined;
  /** JSON that the metadata of one of its tasks contains. */
  metadata?: string | undefined;
  /** Created at or after, and before; milliseconds since the epoch. */
  since?: number | undefined;
  until?: number | undefined;
  /** Only the newest run of each name. */
  newest_of_name?: boolean;
}

export interface RunPage {
  rows: RunRecord[];
  /** Id after which the next page begins; null if there are no more. */
  next: string | null;
  examined: number;
}

/** A filter in SQL. `examines`: no index leads to the runs; `w` is the run. */
interface Condition {
  /** Short, since the keys of all conditions name the statement. */
  key: string;
  text: (...parameters: string[]) => string;
  values?: readonly unknown[];
  examines?: true;
  /** Only rows that are not in the archive. */
  live?: true;
}

const METADATA = 'm';

const BEGUN = `(coalesce(w.succeeded + w.failed + w.canceled, 0) > 0 or (${RUN_START}) is not null)`;
const IS_OPEN: Condition = { key: 'open', text: () => 'w.ended_at is null', live: true };

const metadataOf = (tasks: string, parameter: string): string =>
  `(select true from ${tasks} t where t.workflow_id = w.id and t.metadata @> ${parameter}::jsonb limit 1)`;

function stateConditions(state: RunFilter['state']): Condition[] {
  switch (state) {
    case undefined:
      return [];
    case 'open':
      return [IS_OPEN];
    case 'failing':
      return [{ key: 'failing', text: () => 'w.failing' }];
    case 'paused':
      return [IS_OPEN, { key: 'paused', text: () => 'w.paused', examines: true }];
    case 'running':
      return [IS_OPEN, { key: 'running', text: () => `not w.paused and ${BEGUN}`, examines: true }];
    case 'waiting':
      return [IS_OPEN, { key: 'waiting', text: () => `not w.paused and not ${BEGUN}`, examines: true }];
    case 'succeeded':
      // Most runs: a search for them soon finds some.
      return [{ key: state, text: () => `w.outcome = ${TASK_STATE_CODE[state]}`, examines: true }];
    case 'failed':
    case 'timed_out':
    case 'partially_failed':
    case 'canceled':
    case 'disabled':
      // A constant, from which the planner can tell that the partial index applies.
      return [{ key: state, text: () => `w.outcome = ${TASK_STATE_CODE[state]}` }];
  }
}

function conditionsOf(filter: RunFilter): Condition[] {
  const { name, q, type, kind_id, job, fingerprint, metadata, since, until } = filter;
  const given = stateConditions(filter.state);
  if (name !== undefined) given.push({ key: 'n', text: (p) => `w.name = ${p}`, values: [name] });
  given.push(...timeConditions(since, until));
  if (job !== undefined) given.push(...jobConditions(job));
  if (fingerprint !== undefined) given.push({ key: 'f', text: failedAlike, values: [fingerprint] });
  // Workflows have an index of their own.
  if (type === 'workflow') given.push({ key: 'wf', text: () => 'w.is_tree' });
  if (type === 'batch') given.push({ key: 'b', text: () => 'not w.is_tree', examines: true });
  if (q !== undefined) {
    given.push({ key: 'q', text: (p) => `position(lower(${p}) in lower(w.name)) > 0`, values: [q], examines: true });
  }
  if (kind_id !== undefined) {
    given.push({ key: 'k', text: (p) => `w.kinds @> array[${p}::integer]`, values: [kind_id], examines: true });
  }
  if (filter.newest_of_name === true) given.push(NEWEST_OF_NAME);
  if (metadata !== undefined) {
    given.push({
      key: METADATA,
      // One by one, since the planner may hash all tasks for "exists".
      text: (p) =>
        `coalesce(case when w.archived then ${metadataOf('archive_task', p)} else ${metadataOf('task', p)} end, false)`,
      values: [metadata],
      examines: true,
    });
  }
  return given.sort((a, b) => Number(a.examines ?? false) - Number(b.examines ?? false));
}

/**
 * Ids contain the time at which they were made, which leads near the times of creation: a run is stored at once, or when
 * its job lets it start, and clocks of servers differ.
 */
function timeConditions(since: number | undefined, until: number | undefined): Condition[] {
  const given: Condition[] = [];
  if (since !== undefined) {
    given.push({ key: 's0', text: (p) => `w.id >= ${p}::uuid`, values: [firstIdOf(since - STORED_WITHIN_MS)] });
    const values = [new Date(since).toISOString()];
    given.push({ key: 's', text: (p) => `w.created_at >= ${p}::timestamptz`, values, examines: true });
  }
  if (until !== undefined) {
    given.push({ key: 'u0', text: (p) => `w.id < ${p}::uuid`, values: [firstIdOf(until + CLOCKS_DIFFER_MS)] });
    const values = [new Date(until).toISOString()];
    given.push({ key: 'u', text: (p) => `w.created_at < ${p}::timestamptz`, values, examines: true });
  }
  return given;
}

/** Returns the lowest UUIDv7 of a time. */
function firstIdOf(ms: number): string {
  const time = Math.min(Math.max(Math.floor(ms), 0), MAX_ID_TIME)
    .toString(16)
    .padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

function jobConditions({ id, name }: NonNullable<RunFilter['job']>): Condition[] {
  const runs = (job: string): string => `w.id = any(array(select h.workflow_id from recon.job_history h
    where h.job_id = ${job} and h.workflow_id is not null order by h.scheduled_for desc, h.id desc limit ${RUNS_OF_JOB_MAX}))`;
  if (id !== null) return [{ key: 'j', text: (p) => runs(p), values: [id] }];
  return [{ key: 'jn', text: (p) => runs(`(select j.id from recon.jobs j where j.name = ${p})`), values: [name] }];
}

/** An array, so that the failures are read once, by their index. */
const failedAlike = (fingerprint: string): string => `w.id = any(array(select f.workflow_id from (
    select workflow_id from failure where fingerprint = ${fingerprint}::bigint
    order by ended_at desc, task_id desc limit ${FAILURES_MAX}) f group by f.workflow_id))`;

const NEWEST_OF_NAME: Condition = {
  key: 'new',
  text: () => `w.name is not null and coalesce(
    (select false from workflow n where n.name = w.name and n.id > w.id limit 1),
    (select false from archive_workflow n where n.name = w.name and n.id > w.id limit 1), true)`,
  examines: true,
};

interface Statements {
  page: Statement;
  /** How far a page that is not full has looked; null if it returns whatever it looks at. */
  examined: Statement | null;
}

/** Statements by combination of filters, since absent filters must not keep the others from their index. */
class RunStatements {
  readonly #name: string;
  readonly #made = new Map<string, Statements>();

  constructor({ name }: { name: string }) {
    this.#name = name;
  }

  of(conditions: readonly Condition[]): Statements {
    const key = conditions.map((each) => each.key).join('.');
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const { page, examined } = textsOf(conditions);
    const made = {
      page: this.#statement(`page.${key}`, page),
      examined: examined === null ? null : this.#statement(`examined.${key}`, examined),
    };
    this.#made.set(key, made);
    return made;
  }

  #statement(key: string, text: string): Statement {
    return { name: `${this.#name}.${key}`, text };
  }
}

const statements = new RunStatements({ name: 'runs.list' });

/** Ids grow with time. */
const NEWEST_FIRST = 'w.id desc';

function textsOf(conditions: readonly Condition[]): { page: string; examined: string | null } {
  let parameters = 0;
  const leading: string[] = [];
  const examining: string[] = [];
  for (const { text, values = [], examines } of conditions) {
    (examines === true ? examining : leading).push(text(...values.map(() => `$${(parameters += 1)}`)));
  }
  const table = conditions.some(({ live }) => live)
    ? '(select *, false as archived from workflow) w'
    : 'workflow_all w';
  const countsTasks = conditions.some((each) => each.key === METADATA);
  const looked = `select w.*, row_number() over (order by ${NEWEST_FIRST}) as nth
      ${countsTasks ? `, sum(w.task_count) over (order by ${NEWEST_FIRST}) - w.task_count as tasks_before` : ''}
    from (select ${RUN_BASE} from ${table} ${whereAll(leading)}
      order by ${NEWEST_FIRST} ${examining.length > 0 ? `limit ${EXAMINED_RUNS_MAX}` : ''}) w`;
  const within = countsTasks ? [`w.tasks_before < ${EXAMINED_TASKS_MAX}`] : [];
  const page = `select ${RUN_COLUMNS}, w.nth from (
      select * from (${looked}) w ${whereAll([...within, ...examining])}
      order by ${NEWEST_FIRST} limit $${parameters + 1}) w
    ${RUN_JOINS} order by ${NEWEST_FIRST}`;
  const examined = `with looked as materialized (${looked})
    select w.id, w.nth,
      (select count(*) from looked) as total
    from looked w ${whereAll(within)} order by w.nth desc limit 1`;
  return { page, examined: examining.length === 0 ? null : examined };
}

function whereAll(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
}

/** Returns runs, newest first, after a cursor. A page that is not full may have a successor. */
export async function findRuns(
  queryable: Queryable,
  filter: RunFilter,
  after: string | null,
  limit: number,
): Promise<RunPage> {
  const conditions = [...cursorConditions(after), ...conditionsOf(filter)];
  const { page, examined } = statements.of(conditions);
  // Conditions that examine come last in the parameters, and the statement that only looks has none of them.
  const values = conditions.flatMap((each) => each.values ?? []);
  const rows = await queryable.query<RunRecord & { nth: number }>(page, [...values, limit + 1]);
  if (rows.length > limit) {
    const last = rows[limit - 1]!;
    return { rows: rows.slice(0, limit), next: last.id, examined: last.nth };
  }
  if (examined === null) return { rows, next: null, examined: rows.length };
  const looking = conditions.filter((each) => each.examines !== true).flatMap((each) => each.values ?? []);
  const [last] = await queryable.query<{ id: string; nth: number; total: number }>(examined, looking);
  if (last === undefined) return { rows, next: null, examined: 0 };
  const isDone = last.nth === last.total && last.total < EXAMINED_RUNS_MAX;
  return { rows, next: isDone ? null : last.id, examined: last.nth };
}

function cursorConditions(after: string | null): Condition[] {
  return after === null ? [] : [{ key: 'after', text: (id) => `w.id < ${id}::uuid`, values: [after] }];
}

const GET_RUN: Statement = {
  name: 'runs.get',
  text: `select ${RUN_COLUMNS} from (select ${RUN_BASE} from workflow_all w where w.id = $1) w ${RUN_JOINS}`,
};

export async function findRun(queryable: Queryable, id: string): Promise<RunRecord | null> {
  return (await queryable.query<RunRecord>(GET_RUN, [id]))[0] ?? null;
}

/** Only open runs need a look at their start, for their state. */
const RECENT_RUNS: Statement = {
  name: 'runs.recent',
  text: `select n.name, w.id, w.created_at, w.ended_at, ${RUN_COUNTS},
      case when w.ended_at is null then ${RUN_START} end as started_at
    from unnest($1::text[]) n(name) cross join lateral (
      select ${RUN_BASE} from workflow_all w where w.name = n.name order by ${NEWEST_FIRST} limit $2) w
    order by ${NEWEST_FIRST}`,
};

export interface RecentRun {
  id: string;
  state: RunState;
  created_at: number;
  ended_at: number | null;
}

/** Returns the newest runs of each name, newest first. */
export async function findRecentRuns(
  queryable: Queryable,
  names: readonly string[],
  limit: number,
): Promise<Map<string, RecentRun[]>> {
  const found = new Map<string, RecentRun[]>(names.map((name) => [name, []]));
  if (names.length === 0) return found;
  type Row = RunStateRecord & Omit<RecentRun, 'state'> & { name: string };
  for (const row of await queryable.query<Row>(RECENT_RUNS, [names, limit])) {
    const { id, created_at, ended_at } = row;
    found.get(row.name)!.push({ id, state: stateOf(row), created_at, ended_at });
  }
  return found;
}
