import type { Clock } from '@heddle/base/clock';
import type { Database } from '../../store/database.ts';
import type { Kinds } from '../../store/kinds.ts';
import type { KnownKinds } from '../known-kinds.ts';
import type { UnreachableExecutor } from './port.ts';

/** What the parts of the overview read from. */
export interface OverviewContext {
  database: Database;
  clock: Clock;
  kinds: Kinds;
  knownKinds: KnownKinds;
  /** Executors that do not respond to this server. */
  unreachable: () => readonly UnreachableExecutor[];
  /** Time that statements use; null: the database's clock. */
  now: () => string | null;
}
