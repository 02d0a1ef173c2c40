import { taskStateOf, type TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { withCodes } from './sql-names.ts';
import { uuidArray } from './transitions.ts';

const TAKE: Statement = {
  name: 'finalization.take',
  text: `select workflow_id from finalization order by workflow_id limit $1 for update skip locked`,
};

const FIND_JOB_RUN_ENDS: Statement = {
  name: 'finalization.find_job_run_ends',
  text: withCodes(`select w.id as workflow_id, w.job_run_id, w.ended_at, c.state, c.reason, n.counts
    from (
      select id, job_run_id, ended_at from workflow where id = any($1::uuid[])
      union all
      select id, job_run_id, ended_at from archive_workflow where id = any($1::uuid[])) w
    join container_all c on c.id = w.id
    cross join lateral (
      select jsonb_object_agg(s.state, s.n) as counts
      from (select state, count(*) as n from task_all where workflow_id = w.id group by state) s) n
    where w.job_run_id is not null and w.ended_at is not null and c.state >= :terminal`),
};

const DELETE: Statement = {
  name: 'finalization.delete',
  text: `delete from finalization where workflow_id = any($1::uuid[])`,
};

/** End of a job run's workflow; a container is never canceled. */
export interface EndedJobRun {
  workflow_id: string;
  job_run_id: string;
  root_state: Exclude<TaskState, 'waiting' | 'pending' | 'claimed' | 'running' | 'expanding' | 'paused' | 'canceled'>;
  ended_at: number;
  counts: Partial<Record<TaskState, number>>;
  reason: string | null;
}

interface EndRow {
  workflow_id: string;
  job_run_id: string;
  ended_at: number;
  state: number;
  reason: string | null;
  counts: Record<string, number> | null;
}

/** Locks ended trees for this transaction; other processes skip them. */
export async function takeEndedTrees(tx: Queryable, limit: number): Promise<string[]> {
  return (await tx.query<{ workflow_id: string }>(TAKE, [limit])).map((row) => row.workflow_id);
}

/**
 * Returns those of the trees that a job started, archived ones included; one that is running again ends again later.
 */
export async function findEndedJobRuns(tx: Queryable, ids: readonly string[]): Promise<EndedJobRun[]> {
  const rows = await tx.query<EndRow>(FIND_JOB_RUN_ENDS, [uuidArray(ids)]);
  return rows.map(({ workflow_id, job_run_id, ended_at, state, reason, counts }) => ({
    workflow_id,
    job_run_id,
    root_state: taskStateOf(state) as EndedJobRun['root_state'],
    ended_at,
    counts: Object.fromEntries(Object.entries(counts ?? {}).map(([code, count]) => [taskStateOf(Number(code)), count])),
    reason,
  }));
}

/** Marks these trees as finalized. */
export async function deleteFinalizations(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(DELETE, [uuidArray(ids)]);
}
