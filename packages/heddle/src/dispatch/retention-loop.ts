import type { Engine } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';

export interface RetentionOptions {
  engine: Pick<Engine, 'retain'>;
  /** Rows that one pass may move or delete. */
  limit: number;
  /** Time between two passes that found little. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
}

/** Moves completed workflows to the archive and deletes old ones, in sets, in the background. */
export function retentionLoop({ engine, limit, intervalMs, clock, log }: RetentionOptions): Loop {
  const runOnce = async (): Promise<'again' | 'idle'> => {
    const { archived, deleted } = await engine.retain(limit);
    return Math.max(archived, deleted) * 2 >= limit ? 'again' : 'idle';
  };
  return new Loop({ name: 'retention', intervalMs, clock, log, runOnce });
}
