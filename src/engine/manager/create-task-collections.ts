import type { CreateTaskCollectionMessage } from '../../domain/message.ts';
import type { WorkflowSubmission } from '../port.ts';
import { rejectJobRuns } from '../schedule/finish-job-runs.ts';
import { applyOnce } from './apply-once.ts';
import type { Batch } from './batch.ts';
import type { ManagerContext } from './context.ts';

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
  const rejections = batch
    .buriedOf('CreateTaskCollection')
    .flatMap(({ message, reason }) =>
      message.job_run_id === null ? [] : [{ job_run_id: message.job_run_id, reason: `it was refused: ${reason}` }],
    );
  if (rejections.length === 0) return;
  await context.database.transaction((tx) => rejectJobRuns(context.jobs, tx, rejections));
}

function submissionOf({ collection, job_run_id }: CreateTaskCollectionMessage): WorkflowSubmission {
  return { name: collection.name, root: collection.root, traceparent: null, idempotency: null, job_run_id };
}
