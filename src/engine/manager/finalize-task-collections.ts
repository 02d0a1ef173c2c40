import { deleteFinalizations, findEndedJobRuns, takeEndedTrees } from '../../store/finalization.ts';
import { finishJobRuns } from '../schedule/finish-job-runs.ts';
import type { ManagerContext, StepResult } from './context.ts';

/** Trees that one transaction finishes; a full one is followed by the next. */
const TREES_MAX = 200;
const TRANSACTIONS_MAX = 50;

/**
 * Step 8: does once, at the end of a tree, what is to be done then: the history of its job learns how it ended, a run that
 * waited for it starts, and whoever asked is told. The tree itself leaves the hot tables with the retention.
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
