import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Engine } from '@heddle/core/engine/port';
import type { CheckedTask, TaskControl } from '../dispatch/task-control.ts';
import type { WatchAttempt } from '../kinds/recon/run-scan.ts';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';

/** Interval at which a worker polls the tasks that send packets. */
const POLL_MS = 500;

/**
 * Checks a task whenever its workflow changes, so that a canceled task stops sending packets at once instead of at the
 * worker's next poll.
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
        // The worker itself polls again later.
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

/**
 * Does the same for a worker, which receives no change notifications: polls all its attempts twice a second while there
 * are any.
 */
export function pollAttempts({
  control,
  clock,
  log,
}: {
  control: TaskControl;
  clock: Clock;
  log: Logger;
}): WatchAttempt {
  const watched = new Map<CheckedTask, () => void>();
  const runOnce = async (): Promise<'idle'> => {
    const tasks = [...watched.keys()];
    const reasons = await control.check(tasks);
    for (const [index, task] of tasks.entries()) if ((reasons[index] ?? null) !== null) watched.get(task)?.();
    return 'idle';
  };
  const loop = new Loop({ name: 'attempt watch', intervalMs: POLL_MS, clock, log, runOnce });
  return ({ id, attempt }, onOver) => {
    const task: CheckedTask = { task_id: id, attempt };
    watched.set(task, onOver);
    loop.start();
    return () => {
      watched.delete(task);
      if (watched.size === 0) void loop.stop();
    };
  };
}
