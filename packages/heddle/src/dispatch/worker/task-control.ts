import type { TaskId } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Engine } from '@heddle/core/engine/port';

export interface CheckedTask {
  task_id: TaskId;
  attempt: number;
}

/** Reports tasks that no longer need their worker: queues deliver starts, but not ends. */
export interface TaskControl {
  /** Returns for each attempt, in order, whether it is still wanted. */
  check(tasks: readonly CheckedTask[]): Promise<('go' | 'stop')[]>;
}

/** Maximum concurrent lookups. */
const LOOKUPS_MAX = 8;

/** Checks with the engine: a task that has ended or whose next attempt has begun needs no more work. */
export function engineControl(engine: Pick<Engine, 'getTask'>): TaskControl {
  return controlBy(async (id) => {
    const task = await engine.getTask(id);
    return task === null ? null : { over: isTerminal(task.state), attempt: task.attempt };
  });
}

/**
 * Creates a control that looks up tasks one by one.
 * @param lookUp returns whether the task has ended and its current attempt; null if there is no such task
 */
export function controlBy(lookUp: (id: TaskId) => Promise<{ over: boolean; attempt: number } | null>): TaskControl {
  const checkOne = async ({ task_id, attempt }: CheckedTask): Promise<'go' | 'stop'> => {
    const task = await lookUp(task_id);
    return task === null || task.over || task.attempt > attempt ? 'stop' : 'go';
  };
  return {
    check: async (tasks) => {
      const answers: ('go' | 'stop')[] = [];
      for (let at = 0; at < tasks.length; at += LOOKUPS_MAX) {
        answers.push(...(await Promise.all(tasks.slice(at, at + LOOKUPS_MAX).map(checkOne))));
      }
      return answers;
    },
  };
}
