import type { Clock } from '@heddle/base/clock';
import type { Database } from '../../store/database.ts';
import { KnownKinds } from '../known-kinds.ts';
import type { OverviewContext } from './context.ts';
import { listFailures } from './failing.ts';
import { computeHome } from './home.ts';
import type { Overview, UnreachableExecutor } from './port.ts';
import { SharedAnswer } from './shared-answer.ts';

export interface OverviewOptions {
  database: Database;
  clock: Clock;
  /** Executors that do not respond to this server; none by default. */
  unreachable?: () => readonly UnreachableExecutor[];
  /** Time that statements use; null: the database's clock. */
  now?: () => string | null;
}

/** How long an answer is used for further callers, ms. */
const HOME_MAX_AGE_MS = 1_500;

/** The state of the whole system, from one database. */
export function createOverview({ database, clock, unreachable, now }: OverviewOptions): Overview {
  const context: OverviewContext = {
    database,
    clock,
    knownKinds: new KnownKinds(clock),
    unreachable: unreachable ?? (() => []),
    now: now ?? (() => null),
  };
  const home = new SharedAnswer(clock, HOME_MAX_AGE_MS, () => computeHome(context));
  return {
    home: () => home.get(),
    failures: (fingerprint, after, limit) => listFailures(database, fingerprint, after, limit),
  };
}
