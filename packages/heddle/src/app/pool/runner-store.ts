import { PostgresRunnerStore } from '@heddle/core/pool/store/postgres';
import type { Database } from '@heddle/core/store/database';

/** Opens the store of the pool, with the clock and the policy of the database. */
export function openRunnerStore(database: Database): PostgresRunnerStore {
  return new PostgresRunnerStore({ database, now: () => null });
}
