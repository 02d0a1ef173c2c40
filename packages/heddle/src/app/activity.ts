import type { Engine } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';

const FLUSH_MS = 5_000;

/** Adds what this process did to the activity that Home shows. A killed process loses seconds of it. */
export function activityLoop({
  engine,
  clock,
  log,
}: {
  engine: Pick<Engine, 'flushActivity'>;
  clock: Clock;
  log: Logger;
}): Loop {
  const runOnce = async (): Promise<'idle'> => {
    await engine.flushActivity();
    return 'idle';
  };
  return new Loop({ name: 'activity', intervalMs: FLUSH_MS, clock, log, runOnce });
}
