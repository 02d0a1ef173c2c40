import { PostgresRunnerStore } from '../../pool/store/postgres.ts';
import type { Database } from '../../store/database.ts';

/** Opens the store of the pool, with the clock and the policy of the database. */
export function openRunnerStore(database: Database): PostgresRunnerStore {
  return new PostgresRunnerStore({ database, now: () => null });
}
