import { HeddleError } from '@heddle/base/errors';
import { messageOf } from '@heddle/base/thrown';
import { planRuns, type Job, type OpenRuns, type PlannedRun, type WorkflowDefinition } from '../../domain/schedule.ts';
import type { Queryable } from '../../store/database.ts';
import { insertRuns, trimHistory, type NewRun } from '../../store/job-history.ts';
import { advanceJobs, lockDueJobs, nextDueAt, pauseJobs, readDefinitions } from '../../store/jobs.ts';
import type { JobContext } from './context.ts';
import { parseSchedule } from './cron.ts';
import { openRunsOf } from './finish-job-runs.ts';
import type { DueJobsResult } from './port.ts';
import { readDefinition, sendRuns } from './send-runs.ts';

/** Retention of each job's history: the latest runs, the latest skipped occurrences, nothing older than 90 days. */
const HISTORY_RUNS_MAX = 1000;
const HISTORY_SKIPPED_MAX = 200;
const HISTORY_AGE_MAX_MS = 90 * 86_400_000;

/** Jobs whose definitions are in memory at once. */
const SET_MAX = 10;

/** Decision on a due job. */
type Plan =
  | { type: 'runs'; job: Job; runs: PlannedRun[]; next_run_at: number | null; recurrence: number | null }
  | { type: 'pause'; job: Job; reason: string };

/**
 * Starts what is due for at most `limit` jobs, longest overdue first, in one transaction: history entries, the jobs'
 * next occurrences, and one CreateTaskCollection message per run commit together or not at all. Any number of servers
 * may do so at once: each job is handled by one of them. A job that cannot be started is paused with the reason.
 */
export async function startDueJobs(context: JobContext, limit: number): Promise<DueJobsResult> {
  const { paused, ...result } = await context.database.transaction(async (tx) => {
    const { jobs, now } = await lockDueJobs(tx, limit, context.now());
    const total: Total = { started: 0, queued: 0, skipped: 0, paused: [], more: jobs.length === limit };
    if (jobs.length === 0) return total;
    // A separate statement: only one that begins after the locks are held sees what their last holders did.
    const open = await openRunsOf(
      context,
      tx,
      jobs.map(({ id }) => id),
      now,
    );
    const plans = jobs.map((job) => planOf(job, open.get(job.id) ?? { running: 0, queued: 0 }, now));
    for (let from = 0; from < plans.length; from += SET_MAX) {
      await carryOut(context, tx, plans.slice(from, from + SET_MAX), now, total);
    }
    return total;
  });
  for (const { job, reason } of paused) {
    context.log.warn({ job: job.name, job_id: job.id, reason }, 'job paused because it cannot be started');
  }
  return { ...result, paused: paused.length };
}

/** Returns when the next job is due, milliseconds since the epoch; null if none will be. */
export function nextJobAt(context: JobContext): Promise<number | null> {
  return nextDueAt(context.database);
}

interface Total extends Omit<DueJobsResult, 'paused'> {
  paused: { job: Job; reason: string }[];
}

function planOf(job: Job, open: OpenRuns, now: number): Plan {
  try {
    const schedule = parseSchedule(job.cron, job.time_zone);
    const due = schedule.due(job.next_run_at!, now);
    const { runs, recurrence } = planRuns(job, due, open, now);
    return { type: 'runs', job, runs, recurrence, next_run_at: recurrence === 0 ? null : schedule.next(now) };
  } catch (error) {
    return { type: 'pause', job, reason: reasonOf(error) };
  }
}

async function carryOut(
  context: JobContext,
  tx: Queryable,
  planned: readonly Plan[],
  now: number,
  total: Total,
): Promise<void> {
  const starting = planned.filter((plan) => plan.type === 'runs' && plan.runs.some(({ state }) => state !== 'Skipped'));
  const definitions = await readDefinitions(
    tx,
    starting.map(({ job }) => job.id),
  );
  const plans = planned.map((plan) => withDefinition(context, plan, definitions.get(plan.job.id)));
  const runs = plans.flatMap((plan) => runsOf(context, plan));
  const stored = await insertRuns(
    tx,
    runs.map(({ run }) => run),
    now,
  );
  const going = plans.filter((plan) => plan.type === 'runs');
  const paused = plans.filter((plan) => plan.type === 'pause');
  await advanceJobs(
    tx,
    going.map(({ job: { id }, next_run_at, recurrence }) => ({ id, next_run_at, recurrence })),
  );
  await pauseJobs(
    tx,
    paused.map(({ job, reason }) => ({ id: job.id, reason })),
    now,
  );
  const isNew = runs.filter(({ run }) => stored.has(run.id));
  await sendRuns(
    context,
    tx,
    isNew
      .filter(({ run }) => run.state === 'Running')
      .map(({ run, job }) => ({ run_id: run.id, job_name: job.name, workflow: definitions.get(job.id)! })),
  );
  await trimHistory(
    tx,
    plans.map(({ job }) => job.id),
    { runs: HISTORY_RUNS_MAX, skipped: HISTORY_SKIPPED_MAX, endedBefore: now - HISTORY_AGE_MAX_MS },
  );
  const count = (state: NewRun['state']): number => isNew.filter(({ run }) => run.state === state).length;
  total.started += count('Running');
  total.queued += count('Queued');
  total.skipped += count('Skipped');
  total.paused.push(...paused);
}

/** Returns the plan, unless the job's workflow cannot be read. */
function withDefinition(context: JobContext, plan: Plan, workflow: WorkflowDefinition | undefined): Plan {
  if (plan.type === 'pause' || workflow === undefined) return plan;
  const read = readDefinition(workflow, () => context.newId());
  return read.ok ? plan : { type: 'pause', job: plan.job, reason: read.faults[0]! };
}

/** Returns the history entries of a plan. */
function runsOf(context: JobContext, plan: Plan): { run: NewRun; job: Job }[] {
  const { job } = plan;
  const runs: PlannedRun[] =
    plan.type === 'runs'
      ? plan.runs
      : [{ scheduled_for: job.next_run_at!, state: 'Skipped', reason: `it cannot be started: ${plan.reason}` }];
  return runs.map((run) => ({
    job,
    run: { ...run, id: context.newId(), job_id: job.id, trigger: 'schedule' as const },
  }));
}

/** Returns in one line why a job cannot be started. */
function reasonOf(error: unknown): string {
  if (error instanceof HeddleError && error.details.length > 0) return error.details.join('; ');
  return messageOf(error);
}
