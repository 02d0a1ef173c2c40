import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { CheckedTask, TaskControl } from './task-control.ts';

/** Maximum runs that one pass checks. */
const CHECKED_MAX = 100;

/**
 * Aborts the signals of runs whose task ended otherwise: canceled, timed out, or taken over by a later attempt. Checks
 * only runs that have lasted for a whole interval and whose handlers listen, so quick tasks cost nothing.
 */
export function unwantedWatch<Run extends { readonly listens: boolean; readonly checked: CheckedTask }>(options: {
  control: TaskControl;
  runs: () => Iterable<Run>;
  /** Called for each run that is no longer wanted, with the reason. */
  onUnwanted: (run: Run, reason: string) => void;
  intervalMs: number;
  clock: Clock;
  log: Logger;
}): Loop {
  const { control, runs, onUnwanted, intervalMs, clock, log } = options;
  const seen = new WeakSet<Run>();
  const runOnce = async (): Promise<'idle'> => {
    const old: Run[] = [];
    for (const run of runs()) {
      if (seen.has(run) && run.listens && old.length < CHECKED_MAX) old.push(run);
      else seen.add(run);
    }
    if (old.length === 0) return 'idle';
    const reasons = await control.check(old.map(({ checked }) => checked));
    for (const [index, run] of old.entries()) {
      const reason = reasons[index] ?? null;
      if (reason !== null) onUnwanted(run, reason);
      // Checked again only after all others.
      seen.delete(run);
    }
    return 'idle';
  };
  return new Loop({ name: 'watch of unwanted runs', intervalMs, clock, log, runOnce });
}
