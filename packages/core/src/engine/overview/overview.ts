import type { Clock } from '@heddle/base/clock';
import type { Database } from '../../store/database.ts';
import { Kinds } from '../../store/kinds.ts';
import { timeOfDatabase } from '../../store/overview/counts.ts';
import { KnownKinds } from '../known-kinds.ts';
import type { OverviewContext } from './context.ts';
import { listFailures } from './failing.ts';
import { computeHome } from './home.ts';
import type { Overview, UnreachableExecutor } from './port.ts';
import { listQueues, listWorkers } from './places.ts';
import { SharedAnswer } from './shared-answer.ts';
import { findSlot, listSlots } from './slots.ts';

export interface OverviewOptions {
  database: Database;
  clock: Clock;
  /** Executors that do not respond to this server; none by default. */
  unreachable?: () => readonly UnreachableExecutor[];
  /** Time that statements use; null: the database's clock. */
  now?: () => string | null;
}

/** How long an answer is used for further callers, ms. */
const HOME_MAX_AGE_MS = 500;

/** The state of the whole system, from one database. */
export function createOverview({ database, clock, unreachable, now }: OverviewOptions): Overview {
  const context: OverviewContext = {
    database,
    clock,
    kinds: new Kinds(database),
    knownKinds: new KnownKinds(clock),
    unreachable: unreachable ?? (() => []),
    now: now ?? (() => null),
  };
  const home = new SharedAnswer(clock, HOME_MAX_AGE_MS, () => computeHome(context));
  const time = (): Promise<number> => timeOfDatabase(database, context.now());
  return {
    workers: async () => listWorkers(context, await time()),
    queues: async () => listQueues(context, await time()),
    slots: (after, limit) => listSlots(database, after, limit),
    slot: (id) => findSlot(database, id),
    home: () => home.get(),
    failures: (fingerprint, after, limit) => listFailures(database, fingerprint, after, limit),
  };
}
