import { PostgresRunnerStore } from '../../pool/store/postgres.ts';
import type { Database } from '../../store/database.ts';

/** Opens the store of the pool; its moment and its policy are the database's. */
export function openRunnerStore(database: Database): PostgresRunnerStore {
  return new PostgresRunnerStore({ database, now: () => null });
}
