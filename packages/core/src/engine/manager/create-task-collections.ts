import type { CreateTaskCollectionMessage } from '../../domain/message.ts';
import type { WorkflowSubmission } from '../port.ts';
import { parseTraceparent } from '@heddle/base/trace';
import { rejectJobRuns } from '../schedule/finish-job-runs.ts';
import { applyOnce } from './apply-once.ts';
import type { Batch } from './batch.ts';
import type { ManagerContext } from './context.ts';
import { faultOf } from './faults.ts';

/**
 * Step 3: stores workflows, containers first. Storing one twice changes nothing. If one is rejected for good, the job
 * that sent it is notified and continues with its next run.
 */
export async function createTaskCollections(context: ManagerContext, batch: Batch, now: number): Promise<void> {
  await applyOnce(context, batch, now, batch.of('CreateTaskCollection'), {
    async apply(engine, messages) {
      const stored = await engine.submitWorkflows(messages.map(submissionOf));
      return stored.map(({ replayed }) => ({ outcome: replayed ? 'repeated' : 'applied' }));
    },
  });
  await tellJobs(context, batch);
}

/** Does not fail the batch if a job cannot be notified; its next trigger or an operator will find out. */
async function tellJobs(context: ManagerContext, batch: Batch): Promise<void> {
  const rejections = batch.refusedJobRuns.map(({ job_run_id, reason }) => ({
    job_run_id,
    reason: `it was refused: ${reason}`,
  }));
  if (rejections.length === 0) return;
  try {
    await context.database.transaction((tx) => rejectJobRuns(context.jobs, tx, rejections));
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    context.log.error({ err: error, job_runs: rejections }, 'could not notify jobs of rejected workflows');
  }
}

function submissionOf({ collection, job_run_id, traceparent: given }: CreateTaskCollectionMessage): WorkflowSubmission {
  const { name, root, notify } = collection;
  // The specification says to ignore malformed contexts.
  const traceparent = given !== undefined && parseTraceparent(given) !== null ? given : null;
  return { name, root, notify, traceparent, idempotency: null, job_run_id };
}
