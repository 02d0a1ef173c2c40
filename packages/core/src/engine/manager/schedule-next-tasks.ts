import { detailedMessageOf } from '@heddle/base/thrown';
import type { Batch } from './batch.ts';
import type { ManagerContext, StepResult } from './context.ts';
import { faultOf } from './faults.ts';

/** Tasks per claim; a full claim is followed by another. */
const DISPATCH_MAX = 500;
const CLAIMS_MAX = 200;

/** Tasks per call that requests runners. */
const DEMANDS_MAX = 500;
const CALLS_MAX = 20;

/**
 * Step 7: reevaluates every workflow with activity, requests the runners that ready tasks need, then dispatches ready
 * tasks of kinds whose workers read queues.
 *
 * @param dispatches whether runners are requested and tasks dispatched
 */
export async function scheduleNextTasks(
  context: ManagerContext,
  batch: Batch,
  dispatches: boolean,
): Promise<StepResult> {
  if (batch.roots.size > 0) await reevaluate(context, batch);
  if (!dispatches) return { count: 0, more: false };
  const more = await askForRunners(context);
  let count = 0;
  for (let claim = 0; claim < CLAIMS_MAX; claim += 1) {
    const started = await context.engine.dispatch(context.holder, DISPATCH_MAX);
    count += started.length;
    if (started.length < DISPATCH_MAX) return { count, more };
  }
  return { count, more: true };
}

/** Returns whether it stopped at its limit. An unavailable pool does not keep tasks from the queues. */
async function askForRunners({ engine, desk, log }: ManagerContext): Promise<boolean> {
  if (desk === undefined) return false;
  try {
    for (let call = 0; call < CALLS_MAX; call += 1) {
      if (!(await engine.askForRunners(desk, DEMANDS_MAX)).more) return false;
    }
    return true;
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    log.error({ err: error }, 'runner request failed; retrying in the next run');
    return false;
  }
}

/** Reevaluates workflows one by one if the set fails, so that only the messages of the failing one are redelivered. */
async function reevaluate(context: ManagerContext, batch: Batch): Promise<void> {
  const { engine, log } = context;
  const roots = [...batch.roots];
  try {
    await engine.reevaluate(roots, [...batch.ended]);
    return;
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    log.warn({ err: error, workflows: roots.length }, 'reevaluation failed; retrying workflows one by one');
  }
  for (const root of roots) {
    try {
      await engine.reevaluate([root]);
    } catch (error) {
      if (faultOf(error) === 'away') throw error;
      log.error({ err: error, workflow: root }, 'workflow could not be reevaluated');
      const completions = batch.of('CompleteTask').filter(({ message }) => message.root_container_id === root);
      for (const completion of completions) {
        batch.settle(completion, {
          outcome: 'failed',
          reason: `its workflow could not be reevaluated: ${detailedMessageOf(error)}`,
        });
      }
    }
  }
}
