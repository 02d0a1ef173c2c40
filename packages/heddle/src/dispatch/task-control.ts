import type { TaskId } from '@heddle/base/ids';
import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Engine, HeartbeatResult } from '@heddle/core/engine/port';

export interface CheckedTask {
  task_id: TaskId;
  attempt: number;
}

/** Reports tasks that no longer need their worker: claims and queues deliver starts, but not ends. */
export interface TaskControl {
  /** Returns for each attempt, in order, why it is no longer wanted; null if it is. */
  check(tasks: readonly CheckedTask[]): Promise<(string | null)[]>;
}

/** Checks by heartbeats, for runners: they may look up no tasks. */
export function heartbeatControl(engine: Pick<Engine, 'heartbeat'>): TaskControl {
  return {
    check: async (tasks) => {
      const results = await engine.heartbeat(tasks.map((task) => ({ ...task, new_success: 0, new_failures: 0 })));
      return results.map(unwantedReason);
    },
  };
}

/** Returns why an attempt is no longer wanted by the answer to its heartbeat; null if it is. */
export function unwantedReason(result: HeartbeatResult): string | null {
  if (result === 'applied') return null;
  return result === 'stale_attempt' ? 'a later attempt of the task took over' : 'the task has ended';
}

/** Maximum concurrent lookups. */
const LOOKUPS_MAX = 8;

/** Checks with the engine: a task that has ended or whose next attempt has begun needs no more work. */
export function engineControl(engine: Pick<Engine, 'getTask'>): TaskControl {
  return controlBy(async (id) => {
    const task = await engine.getTask(id);
    return task === null ? null : { ended: isTerminal(task.state), attempt: task.attempt };
  });
}

/**
 * Creates a control that looks up tasks one by one.
 * @param lookUp returns whether the task has ended and its current attempt; null if there is no such task
 */
export function controlBy(lookUp: (id: TaskId) => Promise<{ ended: boolean; attempt: number } | null>): TaskControl {
  const checkOne = async ({ task_id, attempt }: CheckedTask): Promise<string | null> => {
    const task = await lookUp(task_id);
    if (task === null || task.ended) return 'the task has ended';
    return task.attempt > attempt ? 'a later attempt of the task took over' : null;
  };
  return {
    check: async (tasks) => {
      const reasons: (string | null)[] = [];
      for (let at = 0; at < tasks.length; at += LOOKUPS_MAX) {
        reasons.push(...(await Promise.all(tasks.slice(at, at + LOOKUPS_MAX).map(checkOne))));
      }
      return reasons;
    },
  };
}
