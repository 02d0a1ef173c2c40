import { isTerminal } from '@heddle/base/vocabulary/task-state';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Engine } from '@heddle/core/engine/port';
import type { TaskRun } from './task-run.ts';

/** Maximum tasks that one pass looks up. */
const LOOKED_UP_MAX = 100;

/**
 * Aborts the signals of tasks that ended otherwise: canceled, timed out, or taken over by a later attempt. Looks up
 * only runs that have lasted for a whole interval and whose executors listen, so quick tasks cost nothing.
 */
export function cancelWatch(options: {
  engine: Pick<Engine, 'getTask'>;
  runs: ReadonlySet<TaskRun>;
  intervalMs: number;
  clock: Clock;
  log: Logger;
}): Loop {
  const { engine, runs, intervalMs, clock, log } = options;
  const seen = new WeakSet<TaskRun>();
  const runOnce = async (signal: AbortSignal): Promise<'idle'> => {
    const old: TaskRun[] = [];
    for (const run of runs) {
      if (seen.has(run) && run.listens && old.length < LOOKED_UP_MAX) old.push(run);
      else seen.add(run);
    }
    for (const run of old) {
      if (signal.aborted) break;
      const task = await engine.getTask(run.task.id);
      if (task === null || isTerminal(task.state)) run.abort('the task has ended');
      else if (task.attempt !== run.task.attempt) run.abort('a later attempt of the task took over');
      // Looked up again only after all others.
      seen.delete(run);
    }
    return 'idle';
  };
  return new Loop({ name: 'cancel watch', intervalMs, clock, log, runOnce });
}
