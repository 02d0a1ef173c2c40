import type { TaskId } from '../../domain/ids.ts';
import { isTerminal } from '../../domain/task-state.ts';
import type { Engine } from '../../engine/port.ts';

export interface CheckedTask {
  task_id: TaskId;
  attempt: number;
}

/** How a worker learns that a task needs it no longer: queues tell it of what begins, not of what is over. */
export interface TaskControl {
  /** For each attempt, in order, whether it is still wanted. */
  check(tasks: readonly CheckedTask[]): Promise<('go' | 'stop')[]>;
}

/** Lookups under way at once. */
const LOOKUPS_MAX = 8;

/** Asks the engine: a task that has ended or whose next attempt has begun is not to be worked on. */
export function engineControl(engine: Pick<Engine, 'getTask'>): TaskControl {
  return controlBy(async (id) => {
    const task = await engine.getTask(id);
    return task === null ? null : { over: isTerminal(task.state), attempt: task.attempt };
  });
}

/**
 * A control that looks tasks up one by one.
 *
 * @param lookUp whether the task has ended and its current attempt; null where there is no such task
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
