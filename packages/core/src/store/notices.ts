import type { WorkflowNotification } from '../domain/notification/notification.ts';
import { taskStateOf, type ContainerState, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { countsByState, type CountsByState } from './tasks-before.ts';
import { uuidArray } from './transitions.ts';

const PUT_ENTRIES: Statement = {
  name: 'notices.put_entries',
  text: `insert into workflow_notice (workflow_id, entries)
    select x.w, x.e from jsonb_to_recordset($1::jsonb) as x(w uuid, e jsonb) order by x.w
    on conflict (workflow_id) do update set entries = excluded.entries`,
};

const TAKE_ENDS: Statement = {
  name: 'notices.take_ends',
  text: `select workflow_id, run, entries, name, state, reason, created_at, ended_at, job_run_id, counts
    from take_ends($1::uuid[])`,
};

const WRITE: Statement = {
  name: 'notices.write',
  text: `select write_notices($1::jsonb, coalesce($2::timestamptz, clock_timestamp())) as written`,
};

/** Failed tasks that precede a task in its container, at any depth; the first few by name. */
const BAD_ENDS: Statement = {
  name: 'notices.bad_ends',
  text: withCodes(`with recursive own as (
      select t.id, t.workflow_id, t.container_id, t.position from task_all t where t.id = $1
    ), below as (
      select c.id from own o join container_all c on c.parent_id = o.container_id and c.position < o.position
      union all
      select c.id from below b join container_all c on c.parent_id = b.id
    ), found as (
      select t.id, t.name, t.local_id, t.state, t.reason from own o join task_all t
        on t.container_id = o.container_id and t.position < o.position
      where t.state between :failed and :canceled
      union all
      select t.id, t.name, t.local_id, t.state, t.reason from below b join task_all t on t.container_id = b.id
      where t.state between :failed and :canceled
    )
    select id, name, local_id, state, reason, count(*) over () as total from found order by id limit $2`),
};

const WORKFLOW_NAME: Statement = {
  name: 'notices.workflow_name',
  text: `select name, coalesce($2::timestamptz, clock_timestamp()) as now from workflow_all where id = $1`,
};

/** Stores the notification requests of workflows that were just stored. */
export async function putNoticeEntries(
  tx: Queryable,
  rows: readonly { w: string; e: readonly WorkflowNotification[] }[],
): Promise<void> {
  if (rows.length > 0) await tx.query(PUT_ENTRIES, [JSON.stringify(rows)]);
}

/** End of one run of a workflow with notification requests. */
export interface AnnouncedEnd {
  workflow_id: string;
  /** 0 for the first run, incremented by each retry of the workflow. */
  run: number;
  entries: readonly WorkflowNotification[];
  name: string | null;
  state: Exclude<ContainerState, 'waiting' | 'running'>;
  reason: string | null;
  created_at: number;
  ended_at: number;
  job_run_id: string | null;
  counts: CountsByState;
}

interface EndRow extends Omit<AnnouncedEnd, 'state' | 'counts'> {
  state: number;
  counts: Record<string, number> | null;
}

/** Returns those of the workflows whose end has not been notified; the caller does so in the same transaction. */
export async function takeEnds(tx: Queryable, workflowIds: readonly string[]): Promise<AnnouncedEnd[]> {
  const rows = await tx.query<EndRow>(TAKE_ENDS, [uuidArray(workflowIds)]);
  return rows.map(({ state, counts, ...row }) => ({
    ...row,
    state: taskStateOf(state) as AnnouncedEnd['state'],
    counts: countsByState(Object.entries(counts ?? {}).map(([code, n]) => ({ state: Number(code), n }))),
  }));
}

/** A notice for write_notices. */
export interface NoticeRow {
  /** The task, or the workflow itself. */
  task_id: string;
  workflow_id: string;
  /** The attempt of the task, or the run of the workflow. */
  attempt: number;
  ordinal: number;
  content: object;
  idempotency_key: string;
}

/** Returns the number of new ones. */
export async function writeNotices(tx: Queryable, rows: readonly NoticeRow[], now: string | null): Promise<number> {
  if (rows.length === 0) return 0;
  const [row] = await tx.query<{ written: number }>(WRITE, [JSON.stringify(rows), now]);
  return row!.written;
}

export interface BadEnd {
  id: string;
  name: string;
  local_id: string | null;
  state: TaskState;
  reason: string | null;
}

/** Returns the first failed tasks before a task, and their number. */
export async function findBadEnds(
  queryable: Queryable,
  taskId: string,
  limit: number,
): Promise<{ total: number; first: BadEnd[] }> {
  const rows = await queryable.query<Omit<BadEnd, 'state'> & { state: number; total: number }>(BAD_ENDS, [
    taskId,
    limit,
  ]);
  const first = rows.map(({ total: _, state, ...row }) => ({ ...row, state: taskStateOf(state) }));
  return { total: rows[0]?.total ?? 0, first };
}

/** Returns a workflow's name, and the database's time. */
export async function findWorkflowName(
  queryable: Queryable,
  workflowId: string,
  now: string | null,
): Promise<{ name: string | null; now: number } | null> {
  const [row] = await queryable.query<{ name: string | null; now: number }>(WORKFLOW_NAME, [workflowId, now]);
  return row ?? null;
}
