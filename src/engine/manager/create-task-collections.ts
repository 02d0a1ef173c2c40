import type { CreateTaskCollectionMessage } from '../../domain/message.ts';
import type { WorkflowSubmission } from '../port.ts';
import { parseTraceparent } from '../../runtime/trace.ts';
import { rejectJobRuns } from '../schedule/finish-job-runs.ts';
import { applyOnce } from './apply-once.ts';
import type { Batch } from './batch.ts';
import type { ManagerContext } from './context.ts';
import { faultOf } from './faults.ts';

/**
 * Step 3: stores workflows, containers first. Storing one a second time changes nothing. Where one is refused for good,
 * the job that sent it learns so and goes on with its next run.
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

/** A job that cannot be told keeps no message of the batch back; its next trigger or an operator finds it. */
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
    context.log.error({ err: error, job_runs: rejections }, 'Jobs could not be told that their workflows were refused');
  }
}

function submissionOf({ collection, job_run_id, traceparent: given }: CreateTaskCollectionMessage): WorkflowSubmission {
  const { name, root, notify } = collection;
  // The standard says to ignore what is malformed.
  const traceparent = given !== undefined && parseTraceparent(given) !== null ? given : null;
  return { name, root, notify, traceparent, idempotency: null, job_run_id };
}
