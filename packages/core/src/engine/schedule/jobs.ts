import { HeddleError } from '@heddle/base/errors';
import { isUuid } from '@heddle/base/ids';
import {
  admit,
  type Job,
  type JobChange,
  type JobRun,
  type JobWithDefinition,
  type ListedJob,
  type NewJob,
  type WorkflowDefinition,
} from '../../domain/schedule.ts';
import type { Queryable } from '../../store/database.ts';
import { findTriggered, getRun, insertRuns, lastRuns, listRuns, rememberTriggered } from '../../store/job-history.ts';
import { findJob, insertJob, listJobs, lockJob, readNow, removeJob, updateJob, type JobKey } from '../../store/jobs.ts';
import { backfill, occurrencesIn } from './backfill.ts';
import { readCalendar } from './calendar.ts';
import type { JobContext } from './context.ts';
import { parseSchedule, type Schedule } from './cron.ts';
import { openRunsOf, startWaitingRuns } from './finish-job-runs.ts';
import { jobFaults } from './job-faults.ts';
import type { Jobs } from './port.ts';
import { requireDefinition, sendRuns } from './send-runs.ts';

const UNIQUE_VIOLATION = '23505';

/** Jobs of one database. */
export function createJobs(context: JobContext): Jobs {
  const { database } = context;
  return {
    create: (job) => create(context, job),
    get: (key) => findJob(database, keyOf(key)),
    list: (page) => list(context, page),
    update: (key, change) => update(context, key, change),
    remove: (key) => removeJob(database, keyOf(key)),
    pause: (key) => changing(context, key, async (tx, job, now) => (job.paused ? job : await pause(tx, job, now))),
    resume: (key) =>
      changing(context, key, async (tx, job, now) => (job.paused ? await resume(context, tx, job, now) : job)),
    trigger: (key, once = null, traceparent = null) =>
      changing(context, key, (tx, job, now) => trigger(context, tx, job, now, { once, traceparent })),
    upcoming: (key, count) => upcoming(context, key, count),
    preview: (cron, timeZone, count) => preview(context, cron, timeZone, count),
    backfill: (key, { dry_run, ...request }) =>
      changing(context, key, async (tx, job, now) =>
        dry_run
          ? { occurrences: occurrencesIn(job, request, now), started: 0 }
          : await backfill(context, tx, job, now, request),
      ),
    calendar: (range) => readCalendar(context, range),
    history: async (key, { state, ...page }) => {
      const job = await findJob(database, keyOf(key));
      return job === null ? null : listRuns(database, job.id, { state: state ?? null, ...page });
    },
  };
}

async function list(
  { database }: JobContext,
  { paused, runs: count = 0, ...page }: Parameters<Jobs['list']>[0],
): Promise<ListedJob[]> {
  const jobs = await listJobs(database, { paused: paused ?? null, ...page });
  if (jobs.length === 0) return [];
  const runs = await lastRuns(
    database,
    jobs.map(({ id }) => id),
    Math.max(1, count),
  );
  const byJob = Map.groupBy(runs, ({ job_id }) => job_id);
  return jobs.map((job) => {
    const ofJob = byJob.get(job.id) ?? [];
    return { ...job, last_run: ofJob[0] ?? null, recent_runs: ofJob.slice(0, count) };
  });
}

async function create(context: JobContext, job: NewJob): Promise<JobWithDefinition> {
  const schedule = requireValid(context, job);
  const now = await readNow(context.database, context.now());
  const first = requireOccurrence(schedule, now);
  const next_run_at = job.paused || job.recurrence === 0 ? null : first;
  const stored = await insertJob(context.database, { ...job, id: context.newId(), next_run_at }, now);
  if (stored === null) throw nameTaken(job.name);
  return { ...stored, workflow: job.workflow };
}

async function update(context: JobContext, key: string, change: JobChange): Promise<JobWithDefinition | null> {
  return changing(context, key, async (tx, job, now) => {
    const { workflow: _old, ...rest } = job;
    const { workflow = null, ...members } = change;
    const changed: Job = { ...rest, ...members };
    const schedule = requireValid(context, { ...changed, workflow });
    const isNewSchedule = changed.cron !== job.cron || changed.time_zone !== job.time_zone;
    if (isNewSchedule) requireOccurrence(schedule, now);
    if (changed.paused || changed.recurrence === 0) changed.next_run_at = null;
    else if (isNewSchedule || changed.next_run_at === null) changed.next_run_at = schedule.next(now);
    const stored = await store(tx, changed, workflow, now);
    // Waiting runs may be allowed to run in parallel now.
    if (changed.overlap !== job.overlap) await startWaitingRuns(context, tx, [job.id]);
    return stored;
  });
}

async function store(
  tx: Queryable,
  job: Job,
  workflow: JobWithDefinition['workflow'] | null,
  now: number,
): Promise<JobWithDefinition> {
  try {
    return await updateJob(tx, job, workflow, now);
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) throw nameTaken(job.name);
    throw error;
  }
}

function pause(tx: Queryable, job: JobWithDefinition, now: number): Promise<JobWithDefinition> {
  return updateJob(tx, { ...job, paused: true, next_run_at: null }, null, now);
}

async function resume(
  context: JobContext,
  tx: Queryable,
  job: JobWithDefinition,
  now: number,
): Promise<JobWithDefinition> {
  const schedule = parseSchedule(job.cron, job.time_zone);
  requireDefinition(job.workflow, () => context.newId());
  const next_run_at = job.recurrence === 0 ? null : schedule.next(now);
  const resumed = await updateJob(tx, { ...job, paused: false, paused_reason: null, next_run_at }, null, now);
  await startWaitingRuns(context, tx, [job.id]);
  return resumed;
}

/** Locks the job, so that two requests with one key are handled one after the other. */
async function trigger(
  context: JobContext,
  tx: Queryable,
  job: JobWithDefinition,
  now: number,
  { once, traceparent }: { once: string | null; traceparent: string | null },
): Promise<JobRun> {
  const earlier = once === null ? null : await findTriggered(tx, job.id, once);
  if (earlier !== null) return earlier;
  requireDefinition(job.workflow, () => context.newId());
  const open = (await openRunsOf(context, tx, [job.id], now)).get(job.id) ?? { running: 0, queued: 0 };
  const { state, reason } = admit(job.overlap, open);
  if (state === 'Skipped') {
    throw new HeddleError('CONFLICT', `Job ${job.name} is not started: ${reason}`, {
      details: [
        `overlap: the policy of ${job.name} is ${job.overlap}, and ${reason}; wait for the run under way, cancel its workflow, or set overlap to ${job.overlap === 'skip' ? 'queue or allow' : 'allow'}`,
      ],
    });
  }
  const id = context.newId();
  await insertRuns(tx, [{ id, job_id: job.id, trigger: 'manual', scheduled_for: now, state, reason }], now);
  if (once !== null) await rememberTriggered(tx, { job_id: job.id, key: once, run_id: id, now });
  if (state === 'Running') {
    await sendRuns(context, tx, [{ run_id: id, job_name: job.name, workflow: job.workflow, traceparent }]);
  }
  return (await getRun(tx, id))!;
}

async function upcoming(context: JobContext, key: string, count: number): ReturnType<Jobs['upcoming']> {
  const job = await findJob(context.database, keyOf(key));
  if (job === null) return null;
  if (job.next_run_at === null) return { job, times: [] };
  const wanted = Math.min(count, job.recurrence ?? count);
  const schedule = parseSchedule(job.cron, job.time_zone);
  // The stored occurrence comes first, even if it has passed and has not been started yet.
  return { job, times: [job.next_run_at, ...schedule.upcoming(job.next_run_at, wanted - 1)] };
}

async function preview(context: JobContext, cron: string, timeZone: string, count: number): Promise<number[]> {
  const schedule = parseSchedule(cron, timeZone);
  const now = await readNow(context.database, context.now());
  const first = requireOccurrence(schedule, now);
  return [first, ...schedule.upcoming(first, count - 1)];
}

/**
 * @param job `workflow` null: unchanged
 * @throws HeddleError VALIDATION_FAILED listing every fault of every member
 */
function requireValid(
  context: JobContext,
  job: Pick<Job, 'name' | 'cron' | 'time_zone'> & { workflow: WorkflowDefinition | null },
): Schedule {
  const details = jobFaults(job, () => context.newId());
  if (details.length > 0) throw new HeddleError('VALIDATION_FAILED', undefined, { details });
  return parseSchedule(job.cron, job.time_zone);
}

/** Changes one job under its lock; returns null if there is no such job. */
function changing<T>(
  context: JobContext,
  key: string,
  run: (tx: Queryable, job: JobWithDefinition, now: number) => Promise<T>,
): Promise<T | null> {
  return context.database.transaction(async (tx) => {
    const job = await lockJob(tx, keyOf(key));
    return job === null ? null : run(tx, job, await readNow(tx, context.now()));
  });
}

/** @throws HeddleError VALIDATION_FAILED if the schedule never occurs */
function requireOccurrence(schedule: Schedule, now: number): number {
  const next = schedule.next(now);
  if (next !== null) return next;
  throw new HeddleError('VALIDATION_FAILED', undefined, { details: ['cron: names a day that never occurs'] });
}

/** Returns whether a key is an id; names never look like ids. */
function keyOf(key: string): JobKey {
  return isUuid(key) ? { id: key.toLowerCase(), name: null } : { id: null, name: key };
}

function nameTaken(name: string): HeddleError {
  return new HeddleError('CONFLICT', `Job ${name} already exists`, {
    details: [`name: ${name} is taken; update that job, or choose another name`],
  });
}
