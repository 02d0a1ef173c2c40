import { MANAGER_QUEUE } from '../../domain/message.ts';
import type { OpenRuns } from '../../domain/schedule.ts';
import { WORKFLOW_WIRE_STATE } from '@heddle/base/vocabulary/workflow';
import type { Queryable } from '../../store/database.ts';
import {
  countOpenRuns,
  endRuns,
  failLostRuns,
  jobsOfRuns,
  nextQueuedRuns,
  skipQueuedRuns,
  startQueuedRuns,
  type EndedRun,
} from '../../store/job-history.ts';
import { lockJobs, pauseJobs, readDefinitions, readNow } from '../../store/jobs.ts';
import type { JobContext } from './context.ts';
import type { JobRunEnd } from './port.ts';
import { readDefinition, sendRuns } from './send-runs.ts';

/** Age after which an unhandled message to the manager is looked for; it is usually handled within seconds. */
const LOST_AFTER_MS = 6 * 3_600_000;
const LOST = 'its workflow never began: its message was lost, or is among the dead letters of the queue manager';

/**
 * Records how the workflows of jobs ended, within the transaction that saw them end, and starts the runs that waited
 * for them. Idempotent; if a retried workflow ends once more, the new result replaces the recorded one.
 */
export async function finishJobRuns(context: JobContext, tx: Queryable, ends: readonly JobRunEnd[]): Promise<void> {
  await record(
    context,
    tx,
    ends.map((end) => ({
      run_id: end.job_run_id,
      workflow_id: end.workflow_id,
      state: WORKFLOW_WIRE_STATE[end.root_state],
      reason: end.reason ?? null,
      ended_at: end.ended_at,
      counts: end.counts,
    })),
  );
}

/**
 * Records runs that could not begin because the manager rejected their messages; their jobs go on with the next run.
 */
export async function rejectJobRuns(
  context: JobContext,
  tx: Queryable,
  rejections: readonly { job_run_id: string; reason: string }[],
): Promise<void> {
  if (rejections.length === 0) return;
  const ended_at = await readNow(tx, context.now());
  const ends = rejections.map(({ job_run_id, reason }) => ({
    run_id: job_run_id,
    workflow_id: job_run_id,
    state: 'Failed' as const,
    reason,
    ended_at,
    counts: null,
  }));
  await record(context, tx, ends);
}

async function record(context: JobContext, tx: Queryable, ends: readonly EndedRun[]): Promise<void> {
  if (ends.length === 0) return;
  // Jobs are locked first, as by all code that starts runs, so that no decision is based on a run that is ending.
  const jobs = await jobsOfRuns(
    tx,
    ends.map(({ run_id }) => run_id),
  );
  if (jobs.length === 0) return;
  await lockJobs(tx, jobs);
  const ended = await endRuns(tx, ends);
  await startWaitingRuns(context, tx, ended);
}

/**
 * Returns the open runs of each of these jobs, whose locks the caller holds; jobs without any are absent. Fails runs
 * whose workflow was never created because its message was dead-lettered, so that they do not block their job forever.
 */
export async function openRunsOf(
  context: JobContext,
  tx: Queryable,
  jobIds: readonly string[],
  now: number,
): Promise<Map<string, OpenRuns>> {
  const open = await countOpenRuns(tx, jobIds);
  const running = [...open].filter(([, runs]) => runs.running > 0).map(([id]) => id);
  if (running.length === 0) return open;
  const lost = await failLostRuns(tx, running, {
    now,
    startedBefore: now - LOST_AFTER_MS,
    reason: LOST,
    queue: MANAGER_QUEUE,
    inDatabase: context.queue.driver !== 'sqs',
  });
  if (lost.length === 0) return open;
  await startWaitingRuns(context, tx, lost);
  return countOpenRuns(tx, jobIds);
}

/**
 * Starts the waiting runs of these jobs that may start now. The caller holds the jobs' locks.
 */
export async function startWaitingRuns(context: JobContext, tx: Queryable, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length === 0) return;
  const now = await readNow(tx, context.now());
  for (;;) {
    const waiting = await nextQueuedRuns(tx, jobIds);
    if (waiting.length === 0) return;
    const definitions = await readDefinitions(
      tx,
      waiting.map(({ job_id }) => job_id),
    );
    const starting: { run_id: string; job_name: string; workflow: NonNullable<ReturnType<typeof definitions.get>> }[] =
      [];
    const refused: { id: string; job_id: string; reason: string }[] = [];
    for (const { id, job_id, job_name } of waiting) {
      const workflow = definitions.get(job_id)!;
      const read = readDefinition(workflow, () => context.newId());
      if (read.ok) starting.push({ run_id: id, job_name, workflow });
      else refused.push({ id, job_id, reason: read.faults[0]! });
    }
    await skipQueuedRuns(
      tx,
      refused.map(({ id, reason }) => ({ id, reason: `it cannot be started: ${reason}` })),
      now,
    );
    await pauseJobs(
      tx,
      refused.map(({ job_id, reason }) => ({ id: job_id, reason })),
      now,
    );
    await startQueuedRuns(
      tx,
      starting.map(({ run_id }) => run_id),
      now,
    );
    await sendRuns(context, tx, starting);
  }
}
