import type { Batch } from './batch.ts';
import type { ManagerContext, StepResult } from './context.ts';
import { faultOf, reasonOf } from './faults.ts';

/** Tasks that one claim takes; a full one is followed by the next. */
const DISPATCH_MAX = 500;
const CLAIMS_MAX = 200;

/** Tasks that one call asks for runners for. */
const DEMANDS_MAX = 500;
const CALLS_MAX = 20;

/**
 * Step 7: looks again at every workflow that had activity, asks for the runners that ready tasks need, then hands the
 * tasks that are ready, of kinds whose workers read queues, to those queues.
 *
 * @param asks whether runners are asked for
 */
export async function scheduleNextTasks(context: ManagerContext, batch: Batch, asks: boolean): Promise<StepResult> {
  if (batch.roots.size > 0) await reevaluate(context, batch);
  const more = asks && (await askForRunners(context));
  let count = 0;
  for (let claim = 0; claim < CLAIMS_MAX; claim += 1) {
    const started = await context.engine.dispatch(context.holder, DISPATCH_MAX);
    count += started.length;
    if (started.length < DISPATCH_MAX) return { count, more };
  }
  return { count, more: true };
}

/** Whether it stopped at its bound. A pool that cannot be asked keeps no task from the queues. */
async function askForRunners({ engine, desk, log }: ManagerContext): Promise<boolean> {
  if (desk === undefined) return false;
  try {
    for (let call = 0; call < CALLS_MAX; call += 1) {
      if (!(await engine.askForRunners(desk, DEMANDS_MAX)).more) return false;
    }
    return true;
  } catch (error) {
    if (faultOf(error) === 'away') throw error;
    log.error({ err: error }, 'Runners could not be asked for; the next run tries it again');
    return false;
  }
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
