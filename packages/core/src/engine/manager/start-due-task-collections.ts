import { JOB_OUTCOMES } from '../../metrics/metrics.ts';
import { startDueJobs } from '../schedule/start-due-jobs.ts';
import type { ManagerContext, StepResult } from './context.ts';

/** Jobs per transaction; if there are more, another one follows. */
const JOBS_MAX = 100;
const TRANSACTIONS_MAX = 20;

/**
 * Step 9: starts due jobs, each occurrence once however many managers run. Their workflows arrive as
 * CreateTaskCollection messages.
 */
export async function startDueTaskCollections({ jobs, metrics }: ManagerContext): Promise<StepResult> {
  let count = 0;
  for (let transaction = 0; transaction < TRANSACTIONS_MAX; transaction += 1) {
    const result = await startDueJobs(jobs, JOBS_MAX);
    count += result.started;
    for (const outcome of JOB_OUTCOMES) metrics?.jobOccurrences.inc({ outcome }, result[outcome]);
    if (!result.more) return { count, more: false };
  }
  return { count, more: true };
}
