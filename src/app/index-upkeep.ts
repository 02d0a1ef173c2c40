import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import type { Database } from '../store/database.ts';
import { giveBackIndexSpace } from '../store/upkeep.ts';

const INTERVAL_MS = 60_000;

/** Reclaims index space that a long transaction has left behind, once it has ended. */
export function indexUpkeepLoop({ database, clock, log }: { database: Database; clock: Clock; log: Logger }): Loop {
  const runOnce = async (): Promise<'idle'> => {
    if (await giveBackIndexSpace(database)) log.info({ table: 'ready' }, 'reclaimed index space of a table');
    return 'idle';
  };
  return new Loop({ name: 'index upkeep', intervalMs: INTERVAL_MS, clock, log, runOnce });
}
