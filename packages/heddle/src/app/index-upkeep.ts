import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Database } from '@heddle/core/store/database';
import { giveBackIndexSpace } from '@heddle/core/store/upkeep';

const INTERVAL_MS = 60_000;

/** Reclaims index space that a long transaction has left behind, once it has ended. */
export function indexUpkeepLoop({ database, clock, log }: { database: Database; clock: Clock; log: Logger }): Loop {
  const runOnce = async (): Promise<'idle'> => {
    if (await giveBackIndexSpace(database)) log.info({ table: 'ready' }, 'reclaimed index space of a table');
    return 'idle';
  };
  return new Loop({ name: 'index upkeep', intervalMs: INTERVAL_MS, clock, log, runOnce });
}
