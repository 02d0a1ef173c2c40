import { deleteFinalizations, findEndedJobRuns, takeEndedTrees } from '../../store/finalization.ts';
import { finishJobRuns } from '../schedule/finish-job-runs.ts';
import type { ManagerContext, StepResult } from './context.ts';

/** Trees that one transaction finalizes; a full one is followed by another. */
const TREES_MAX = 200;
const TRANSACTIONS_MAX = 50;

/**
 * Step 8: finalizes each ended tree once: records the result in the history of its job, starts a run that waited for
 * it, and sends its notifications. Retention removes the tree itself from the hot tables later.
 */
export async function finalizeTaskCollections({ engine, jobs }: ManagerContext): Promise<StepResult> {
  let count = 0;
  for (let transaction = 0; transaction < TRANSACTIONS_MAX; transaction += 1) {
    const trees = await engine.transaction(async (inner, tx) => {
      const ended = await takeEndedTrees(tx, TREES_MAX);
      if (ended.length === 0) return 0;
      await finishJobRuns(jobs, tx, await findEndedJobRuns(tx, ended));
      await inner.announceEnds(ended);
      await deleteFinalizations(tx, ended);
      return ended.length;
    });
    count += trees;
    if (trees < TREES_MAX) return { count, more: false };
  }
  return { count, more: true };
}
