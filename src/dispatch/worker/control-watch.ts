import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../runtime/loop.ts';
import type { Attempt } from './attempt.ts';
import type { TaskControl } from './task-control.ts';

/** Most attempts that one pass asks about. */
const ASKED_MAX = 100;

/**
 * Tells handlers that listen to their signal when their task is over without them. Only runs that lasted for a whole
 * interval are asked about, so quick tasks cost nothing.
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
      if (answers[index] === 'stop') attempt.end('unwanted', 'the task is over, or a later attempt of it began');
      // Asked about again only after the others had their turn.
      seen.delete(attempt);
    }
    return 'idle';
  };
  return new Loop({ name: 'control watch', intervalMs, clock, log, runOnce });
}
