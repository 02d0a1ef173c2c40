import type { Job, JobWithDefinition, NewJob, WorkflowDefinition } from '../domain/schedule.ts';
import type { Queryable, Statement } from './database.ts';

const COLUMNS = `id, name, cron, time_zone, recurrence, overlap, catch_up, paused, paused_reason, next_run_at, created_at,
      updated_at`;

const NOW: Statement = {
  name: 'jobs.now',
  text: `select coalesce($1::timestamptz, clock_timestamp()) as now`,
};

const INSERT: Statement = {
  name: 'jobs.insert',
  text: `insert into recon.jobs (id, name, cron, time_zone, recurrence, overlap, catch_up, paused, workflow, next_run_at,
      created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $11)
    on conflict (name) do nothing
    returning ${COLUMNS}`,
};

const FIND: Statement = {
  name: 'jobs.find',
  text: `select ${COLUMNS}, workflow from recon.jobs where id = $1::uuid or name = $2`,
};

const LIST: Statement = {
  name: 'jobs.list',
  text: `select ${COLUMNS} from recon.jobs where $1::boolean is null or paused = $1 order by name limit $2 offset $3`,
};

const LIST_SCHEDULED: Statement = {
  name: 'jobs.list_scheduled',
  text: `select ${COLUMNS} from recon.jobs where next_run_at is not null order by name limit $1`,
};

const LOCK: Statement = {
  name: 'jobs.lock',
  text: `select ${COLUMNS}, workflow from recon.jobs where id = $1::uuid or name = $2 for update`,
};

const LOCK_MANY: Statement = {
  name: 'jobs.lock_many',
  text: `select id from recon.jobs where id = any($1::uuid[]) order by id for update`,
};

/** Other processes skip a locked due job, so that an occurrence starts once. */
const LOCK_DUE: Statement = {
  name: 'jobs.lock_due',
  text: `select ${COLUMNS}, coalesce($2::timestamptz, now()) as now
    from recon.jobs
    where next_run_at <= coalesce($2::timestamptz, now())
    order by next_run_at, id limit $1
    for update skip locked`,
};

const NEXT_DUE: Statement = {
  name: 'jobs.next_due',
  text: `select min(next_run_at) as next_run_at from recon.jobs where next_run_at is not null`,
};

const DEFINITIONS: Statement = {
  name: 'jobs.definitions',
  text: `select id, workflow from recon.jobs where id = any($1::uuid[])`,
};

const ADVANCE: Statement = {
  name: 'jobs.advance',
  text: `update recon.jobs j set next_run_at = u.next_run_at, recurrence = u.recurrence
    from jsonb_to_recordset($1::jsonb) u(id uuid, next_run_at timestamptz, recurrence integer)
    where j.id = u.id`,
};

const PAUSE_MANY: Statement = {
  name: 'jobs.pause_many',
  text: `update recon.jobs j set paused = true, paused_reason = u.reason, next_run_at = null, updated_at = $2
    from jsonb_to_recordset($1::jsonb) u(id uuid, reason text)
    where j.id = u.id`,
};

const UPDATE: Statement = {
  name: 'jobs.update',
  text: `update recon.jobs set name = $2, cron = $3, time_zone = $4, recurrence = $5, overlap = $6, catch_up = $7,
      paused = $8, paused_reason = $9, next_run_at = $10, updated_at = $11, workflow = coalesce($12::jsonb, workflow)
    where id = $1
    returning ${COLUMNS}, workflow`,
};

const REMOVE: Statement = {
  name: 'jobs.remove',
  text: `delete from recon.jobs where id = $1::uuid or name = $2 returning id`,
};

/** Finds a job by its id or its name. */
export interface JobKey {
  id: string | null;
  name: string | null;
}

/** Returns the time that a transaction on jobs uses. */
export async function readNow(queryable: Queryable, now: string | null): Promise<number> {
  const [row] = await queryable.query<{ now: number }>(NOW, [now]);
  return row!.now;
}

/** Returns null if the name is taken. */
export async function insertJob(
  queryable: Queryable,
  job: NewJob & { id: string; next_run_at: number | null },
  now: number,
): Promise<Job | null> {
  const { id, name, cron, time_zone, recurrence, overlap, catch_up, paused, workflow, next_run_at } = job;
  const [stored] = await queryable.query<Job>(INSERT, [
    id,
    name,
    cron,
    time_zone,
    recurrence,
    overlap,
    catch_up,
    paused,
    JSON.stringify(workflow),
    timeOrNull(next_run_at),
    timeOrNull(now),
  ]);
  return stored ?? null;
}

export async function findJob(queryable: Queryable, key: JobKey): Promise<JobWithDefinition | null> {
  const [job] = await queryable.query<JobWithDefinition>(FIND, [key.id, key.name]);
  return job ?? null;
}

/** Sorted by name, without definitions. */
export function listJobs(
  queryable: Queryable,
  page: { paused: boolean | null; offset: number; limit: number },
): Promise<Job[]> {
  return queryable.query<Job>(LIST, [page.paused, page.limit, page.offset]);
}

/** Returns jobs that will start something, by name. */
export function listScheduledJobs(queryable: Queryable, limit: number): Promise<Job[]> {
  return queryable.query<Job>(LIST_SCHEDULED, [limit]);
}

/** Locks the job until the transaction ends, waiting for processes that change or start it. */
export async function lockJob(tx: Queryable, key: JobKey): Promise<JobWithDefinition | null> {
  const [job] = await tx.query<JobWithDefinition>(LOCK, [key.id, key.name]);
  return job ?? null;
}

/** Locks the existing ones of these jobs, in the order of their ids. */
export async function lockJobs(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(LOCK_MANY, [[...ids]]);
}

/** Locks at most `limit` due jobs, longest overdue first, and skips locked ones. */
export async function lockDueJobs(
  tx: Queryable,
  limit: number,
  now: string | null,
): Promise<{ jobs: Job[]; now: number }> {
  const rows = await tx.query<Job & { now: number }>(LOCK_DUE, [limit, now]);
  return { jobs: rows.map(({ now: _now, ...job }) => job), now: rows[0]?.now ?? 0 };
}

/** Returns when the next job is due; null if none will be. */
export async function nextDueAt(queryable: Queryable): Promise<number | null> {
  const [row] = await queryable.query<{ next_run_at: number | null }>(NEXT_DUE);
  return row?.next_run_at ?? null;
}

export async function readDefinitions(
  queryable: Queryable,
  ids: readonly string[],
): Promise<Map<string, WorkflowDefinition>> {
  if (ids.length === 0) return new Map();
  const rows = await queryable.query<{ id: string; workflow: WorkflowDefinition }>(DEFINITIONS, [[...ids]]);
  return new Map(rows.map(({ id, workflow }) => [id, workflow]));
}

/** Advances locked jobs to their next occurrence. */
export async function advanceJobs(
  tx: Queryable,
  jobs: readonly Pick<Job, 'id' | 'next_run_at' | 'recurrence'>[],
): Promise<void> {
  if (jobs.length === 0) return;
  const rows = jobs.map(({ id, next_run_at, recurrence }) => ({
    id,
    next_run_at: timeOrNull(next_run_at),
    recurrence,
  }));
  await tx.query(ADVANCE, [JSON.stringify(rows)]);
}

export async function pauseJobs(
  tx: Queryable,
  jobs: readonly { id: string; reason: string }[],
  now: number,
): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(PAUSE_MANY, [JSON.stringify(jobs.map(({ id, reason }) => ({ id, reason }))), timeOrNull(now)]);
}

/** Stores the state of a locked job, and its definition if given. */
export async function updateJob(
  tx: Queryable,
  job: Job,
  workflow: WorkflowDefinition | null,
  now: number,
): Promise<JobWithDefinition> {
  const [stored] = await tx.query<JobWithDefinition>(UPDATE, [
    job.id,
    job.name,
    job.cron,
    job.time_zone,
    job.recurrence,
    job.overlap,
    job.catch_up,
    job.paused,
    job.paused_reason,
    timeOrNull(job.next_run_at),
    timeOrNull(now),
    workflow === null ? null : JSON.stringify(workflow),
  ]);
  return stored!;
}

/** Deletes it with its history; returns whether there was one. */
export async function removeJob(queryable: Queryable, key: JobKey): Promise<boolean> {
  return (await queryable.query(REMOVE, [key.id, key.name])).length > 0;
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
