import { isTerminal } from '../domain/task-state.ts';
import type { Engine } from '../engine/port.ts';
import type { WatchAttempt } from '../kinds/recon/run-scan.ts';

/**
 * Looks at a task whenever something of its workflow has changed: who sends packets is to stop at once when the task was
 * canceled, and not when a worker looks at its tasks the next time.
 */
export function watchAttempts(engine: Pick<Engine, 'onWorkflowChange' | 'getTask'>): WatchAttempt {
  return ({ id, workflow_id, attempt }, onOver) => {
    let isLooking = false;
    let isEnded = false;
    const look = (): void => {
      if (isLooking || isEnded) return;
      isLooking = true;
      engine
        .getTask(id)
        .then((task) => {
          if (!isEnded && (task === null || isTerminal(task.state) || task.attempt !== attempt)) onOver();
        })
        // The worker itself looks again later.
        .catch(() => undefined)
        .finally(() => {
          isLooking = false;
        });
    };
    const unsubscribe = engine.onWorkflowChange(workflow_id, look);
    return () => {
      isEnded = true;
      unsubscribe();
    };
  };
}
