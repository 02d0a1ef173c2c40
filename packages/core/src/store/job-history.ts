import type { JobRun, JobRunState, OpenRuns, RunTrigger } from '../domain/schedule.ts';
import type { TaskState } from '@heddle/base/vocabulary/task-state';
import type { Queryable, Statement } from './database.ts';
import { failureReasonOf } from './run-columns.ts';

/** Of rows of the history as `h`. */
const COLUMNS = `h.id, h.job_id, h.trigger, h.scheduled_for, h.state, case when h.state in ('Failed', 'Timeout', 'PartiallyFailed')
  then ${failureReasonOf('h')} else h.reason end as reason, h.workflow_id, h.started_at, h.completed_at, h.counts`;

const OPEN_RUNS: Statement = {
  name: 'job_history.open',
  text: `select job_id, count(*) filter (where state = 'Running') as running,
      count(*) filter (where state = 'Queued') as queued
    from recon.job_history where job_id = any($1::uuid[]) and completed_at is null group by job_id`,
};

/** An occurrence that already has an entry keeps it; the result lists the new ones. */
const INSERT: Statement = {
  name: 'job_history.insert',
  text: `insert into recon.job_history (id, job_id, trigger, scheduled_for, state, reason, workflow_id, started_at,
      completed_at)
    select u.id, u.job_id, u.trigger, u.scheduled_for, u.state, u.reason, case when u.state = 'Running' then u.id end,
      case when u.state = 'Running' then $2::timestamptz end, case when u.state = 'Skipped' then $2::timestamptz end
    from jsonb_to_recordset($1::jsonb)
      u(id uuid, job_id uuid, trigger text, scheduled_for timestamptz, state text, reason text)
    on conflict (job_id, scheduled_for) where trigger = 'schedule' do nothing
    returning id`,
};

const JOBS_OF_RUNS: Statement = {
  name: 'job_history.jobs_of_runs',
  text: `select distinct job_id from recon.job_history where id = any($1::uuid[])`,
};

/** A retried workflow ends again later; an older or repeated end has no effect. */
const FINISH: Statement = {
  name: 'job_history.finish',
  text: `update recon.job_history h set state = u.state, completed_at = u.ended_at, counts = u.counts, reason = u.reason
    from jsonb_to_recordset($1::jsonb)
      u(run_id uuid, workflow_id uuid, state text, reason text, ended_at timestamptz, counts jsonb)
    where h.id = u.run_id and h.workflow_id = u.workflow_id and h.state not in ('Queued', 'Skipped')
      and (h.completed_at is null or h.completed_at < u.ended_at)
    returning h.job_id`,
};

const FAIL_LOST: Statement = {
  name: 'job_history.fail_lost',
  text: `update recon.job_history h set state = 'Failed', completed_at = $2, reason = $4
    where h.job_id = any($1::uuid[]) and h.state = 'Running' and h.completed_at is null and h.started_at < $3
      and not exists (select from workflow w where w.id = h.workflow_id)
      and not exists (select from archive_workflow a where a.id = h.workflow_id)
      -- A manager that was away for long still has the messages before it; elsewhere none is kept for longer than 14
      -- days.
      and (exists (select from queue_dead d where d.queue = $5 and d.id = h.id)
        or h.started_at < $2::timestamptz - interval '15 days'
        or $6::boolean and not exists (select from queue_message m where m.queue = $5 and m.id = h.id))
    returning h.job_id`,
};

/** Selects of each job the run that has waited longest, if nothing blocks it any more. */
const NEXT_QUEUED: Statement = {
  name: 'job_history.next_queued',
  text: `select distinct on (h.job_id) h.id, h.job_id, j.name as job_name
    from recon.job_history h join recon.jobs j on j.id = h.job_id
    where h.job_id = any($1::uuid[]) and h.state = 'Queued' and (not j.paused or h.trigger <> 'schedule')
      and (j.overlap = 'allow' or not exists (
        select from recon.job_history r where r.job_id = h.job_id and r.completed_at is null and r.state = 'Running'))
    order by h.job_id, h.scheduled_for, h.id`,
};

const START_QUEUED: Statement = {
  name: 'job_history.start_queued',
  text: `update recon.job_history set state = 'Running', workflow_id = id, started_at = $2
    where id = any($1::uuid[]) and state = 'Queued'`,
};

const SKIP_QUEUED: Statement = {
  name: 'job_history.skip_queued',
  text: `update recon.job_history h set state = 'Skipped', reason = u.reason, completed_at = $2
    from jsonb_to_recordset($1::jsonb) u(id uuid, reason text)
    where h.id = u.id and h.state = 'Queued'`,
};

const GET: Statement = {
  name: 'job_history.get',
  text: `select ${COLUMNS} from recon.job_history h where h.id = $1`,
};

const LIST: Statement = {
  name: 'job_history.list',
  text: `select ${COLUMNS} from recon.job_history h
    where h.job_id = $1 and ($2::text is null or h.state = $2)
    order by h.scheduled_for desc, h.id desc limit $3 offset $4`,
};

/** The runs of all jobs in a range, at most `$4` of each. */
const BETWEEN: Statement = {
  name: 'job_history.between',
  text: `select j.name as job_name, ${COLUMNS}, count(*) over () as total
    from recon.jobs j cross join lateral (
      select * from recon.job_history o where o.job_id = j.id and o.scheduled_for between $1 and $2
      order by o.scheduled_for limit $4) h
    order by h.scheduled_for, h.id limit $3`,
};

const LAST: Statement = {
  name: 'job_history.last',
  text: `select ${COLUMNS} from unnest($1::uuid[]) j(of_job) cross join lateral (
      select * from recon.job_history h where h.job_id = j.of_job order by h.scheduled_for desc, h.id desc limit $2) h
    order by h.scheduled_for desc, h.id desc`,
};

const TRIGGER_ROUTE = 'POST /v1/jobs/{job}/trigger';

const FIND_TRIGGERED: Statement = {
  name: 'job_history.find_triggered',
  text: `select ${COLUMNS} from recon.job_history h where h.id = (
      select (i.response ->> 'run_id')::uuid from idempotency i where i.route = $1 and i.key = $2)`,
};

/** A key whose run has left the history starts over. */
const REMEMBER_TRIGGERED: Statement = {
  name: 'job_history.remember_triggered',
  text: `insert into idempotency (route, key, body_hash, response, created_at)
    values ($1, $2, '', jsonb_build_object('run_id', $3::text), $4::timestamptz)
    on conflict (route, key) do update set response = excluded.response, created_at = excluded.created_at`,
};

/** Keeps the latest entries of a job, counting runs and skipped occurrences separately, and all open ones. */
const TRIM: Statement = {
  name: 'job_history.trim',
  text: `delete from recon.job_history where id in (
      select h.id from unnest($1::uuid[]) j(id) cross join lateral (
        (select id from recon.job_history where job_id = j.id and completed_at is not null and state <> 'Skipped'
          order by scheduled_for desc, id desc offset $2)
        union all
        (select id from recon.job_history where job_id = j.id and state = 'Skipped'
          order by scheduled_for desc, id desc offset $3)
        union all
        (select id from recon.job_history where job_id = j.id and completed_at < $4)
      ) h)`,
};

export interface NewRun {
  id: string;
  job_id: string;
  trigger: RunTrigger;
  scheduled_for: number;
  state: 'Running' | 'Queued' | 'Skipped';
  reason: string | null;
}

export interface QueuedRun {
  id: string;
  job_id: string;
  job_name: string;
}

export interface EndedRun {
  run_id: string;
  workflow_id: string;
  state: JobRunState;
  reason: string | null;
  ended_at: number;
  counts: Partial<Record<TaskState, number>> | null;
}

/** Returns the open runs by job; jobs without any are absent. */
export async function countOpenRuns(tx: Queryable, jobIds: readonly string[]): Promise<Map<string, OpenRuns>> {
  const rows = await tx.query<OpenRuns & { job_id: string }>(OPEN_RUNS, [[...jobIds]]);
  return new Map(rows.map(({ job_id, running, queued }) => [job_id, { running, queued }]));
}

/** Returns the ids of those stored: an occurrence that already has an entry keeps it. */
export async function insertRuns(tx: Queryable, runs: readonly NewRun[], now: number): Promise<Set<string>> {
  if (runs.length === 0) return new Set();
  const rows = runs.map((run) => ({ ...run, scheduled_for: time(run.scheduled_for) }));
  const stored = await tx.query<{ id: string }>(INSERT, [JSON.stringify(rows), time(now)]);
  return new Set(stored.map(({ id }) => id));
}

/** More than a history keeps; open runs are kept beyond that. */
const OF_ONE_JOB_MAX = 5000;

/** Returns the first runs in a range, oldest first, and the number of all. */
export async function listRunsBetween(
  queryable: Queryable,
  { since, until }: { since: number; until: number },
  limit: number,
): Promise<{ runs: { job_name: string; run: JobRun }[]; total: number }> {
  const rows = await queryable.query<JobRun & { job_name: string; total: number }>(BETWEEN, [
    time(since),
    time(until),
    limit,
    OF_ONE_JOB_MAX,
  ]);
  return { runs: rows.map(({ job_name, total: _, ...run }) => ({ job_name, run })), total: rows[0]?.total ?? 0 };
}

/** Returns the jobs of these runs. */
export async function jobsOfRuns(tx: Queryable, runIds: readonly string[]): Promise<string[]> {
  return (await tx.query<{ job_id: string }>(JOBS_OF_RUNS, [[...runIds]])).map(({ job_id }) => job_id);
}

/** Returns the jobs of the runs that had not ended in this state before. */
export async function endRuns(tx: Queryable, runs: readonly EndedRun[]): Promise<string[]> {
  const rows = runs.map((run) => ({ ...run, ended_at: time(run.ended_at) }));
  const ended = await tx.query<{ job_id: string }>(FINISH, [JSON.stringify(rows)]);
  return [...new Set(ended.map(({ job_id }) => job_id))];
}

/** Fails runs of locked jobs that were started before `startedBefore` and have no workflow; returns their jobs. */
export async function failLostRuns(
  tx: Queryable,
  jobIds: readonly string[],
  {
    now,
    startedBefore,
    reason,
    queue,
    inDatabase,
  }: { now: number; startedBefore: number; reason: string; queue: string; inDatabase: boolean },
): Promise<string[]> {
  const values = [[...jobIds], time(now), time(startedBefore), reason, queue, inDatabase];
  const lost = await tx.query<{ job_id: string }>(FAIL_LOST, values);
  return [...new Set(lost.map(({ job_id }) => job_id))];
}

/** Returns for each of these jobs at most one waiting run that may start now. */
export function nextQueuedRuns(tx: Queryable, jobIds: readonly string[]): Promise<QueuedRun[]> {
  return tx.query<QueuedRun>(NEXT_QUEUED, [[...jobIds]]);
}

export async function startQueuedRuns(tx: Queryable, ids: readonly string[], now: number): Promise<void> {
  if (ids.length > 0) await tx.query(START_QUEUED, [[...ids], time(now)]);
}

export async function skipQueuedRuns(
  tx: Queryable,
  runs: readonly { id: string; reason: string }[],
  now: number,
): Promise<void> {
  if (runs.length > 0) await tx.query(SKIP_QUEUED, [JSON.stringify(runs), time(now)]);
}

export async function getRun(queryable: Queryable, id: string): Promise<JobRun | null> {
  const [run] = await queryable.query<JobRun>(GET, [id]);
  return run ?? null;
}

/** Returns the latest occurrence first. */
export function listRuns(
  queryable: Queryable,
  jobId: string,
  page: { state: JobRunState | null; offset: number; limit: number },
): Promise<JobRun[]> {
  return queryable.query<JobRun>(LIST, [jobId, page.state, page.limit, page.offset]);
}

/** Returns the latest entries of each of these jobs, latest first. */
export function lastRuns(queryable: Queryable, jobIds: readonly string[], count: number): Promise<JobRun[]> {
  return queryable.query<JobRun>(LAST, [[...jobIds], count]);
}

/** Returns the manual run of a job with this idempotency key. */
export async function findTriggered(tx: Queryable, jobId: string, key: string): Promise<JobRun | null> {
  return (await tx.query<JobRun>(FIND_TRIGGERED, [TRIGGER_ROUTE, `${jobId} ${key}`]))[0] ?? null;
}

export async function rememberTriggered(
  tx: Queryable,
  { job_id, key, run_id, now }: { job_id: string; key: string; run_id: string; now: number },
): Promise<void> {
  await tx.query(REMEMBER_TRIGGERED, [TRIGGER_ROUTE, `${job_id} ${key}`, run_id, time(now)]);
}

/** Deletes the oldest entries of these jobs beyond the limits, and those that ended before `endedBefore`. */
export async function trimHistory(
  tx: Queryable,
  jobIds: readonly string[],
  keep: { runs: number; skipped: number; endedBefore: number },
): Promise<void> {
  await tx.query(TRIM, [[...jobIds], keep.runs, keep.skipped, time(keep.endedBefore)]);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
