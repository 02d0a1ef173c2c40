import type { Batch } from './batch.ts';
import type { ManagerContext, StepResult } from './context.ts';
import { faultOf, reasonOf } from './faults.ts';

/** Tasks that one claim takes; a full one is followed by the next. */
const DISPATCH_MAX = 500;
const CLAIMS_MAX = 200;

/**
 * Step 7: looks again at every workflow that had activity, then hands the tasks that are ready, of kinds whose workers
 * read queues, to those queues.
 */
export async function scheduleNextTasks(context: ManagerContext, batch: Batch): Promise<StepResult> {
  if (batch.roots.size > 0) await reevaluate(context, batch);
  let count = 0;
  for (let claim = 0; claim < CLAIMS_MAX; claim += 1) {
    const started = await context.engine.dispatch(context.holder, DISPATCH_MAX);
    count += started.length;
    if (started.length < DISPATCH_MAX) return { count, more: false };
  }
  return { count, more: true };
}

/** One workflow that cannot be looked at must not keep the others from it: its messages come again. */
async function reevaluate(context: ManagerContext, batch: Batch): Promise<void> {
  const { engine, log } = context;
  const roots = [...batch.roots];
  try {
    await engine.reevaluate(roots, [...batch.ended]);
    return;
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    log.warn({ err: error, workflows: roots.length }, 'Workflows are looked at one by one, since together it failed');
  }
  for (const root of roots) {
    try {
      await engine.reevaluate([root]);
    } catch (error) {
      if (faultOf(error) === 'away') throw error;
      log.error({ err: error, workflow: root }, 'A workflow could not be looked at again');
      const completions = batch.of('CompleteTask').filter(({ message }) => message.root_container_id === root);
      for (const completion of completions) {
        batch.settle(completion, { outcome: 'failed', reason: `its workflow could not move on: ${reasonOf(error)}` });
      }
    }
  }
}
