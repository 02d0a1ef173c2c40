import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Attempt } from './attempt.ts';
import type { TaskControl } from './task-control.ts';

/** Maximum attempts that one pass checks. */
const ASKED_MAX = 100;

/**
 * Aborts the signals of handlers whose task has ended otherwise. Checks only runs that have lasted for a whole interval
 * and whose handlers listen, so quick tasks cost nothing.
 */
export function controlWatch(options: {
  control: TaskControl;
  running: ReadonlyMap<Attempt, unknown>;
  intervalMs: number;
  clock: Clock;
  log: Logger;
}): Loop {
  const { control, running, intervalMs, clock, log } = options;
  const seen = new WeakSet<Attempt>();
  const runOnce = async (): Promise<'idle'> => {
    const old: Attempt[] = [];
    for (const attempt of running.keys()) {
      if (seen.has(attempt) && attempt.listens && old.length < ASKED_MAX) old.push(attempt);
      else seen.add(attempt);
    }
    if (old.length === 0) return 'idle';
    const answers = await control.check(
      old.map(({ start: { task } }) => ({ task_id: task.id, attempt: task.attempt })),
    );
    for (const [index, attempt] of old.entries()) {
      if (answers[index] === 'stop') attempt.end('unwanted', 'the task has ended, or a later attempt has begun');
      // Checked again only after all others.
      seen.delete(attempt);
    }
    return 'idle';
  };
  return new Loop({ name: 'control watch', intervalMs, clock, log, runOnce });
}
