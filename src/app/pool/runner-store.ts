import type { PoolPolicy } from '../../pool/context.ts';
import { PostgresRunnerStore } from '../../pool/store/postgres.ts';
import type { Database } from '../../store/database.ts';

/** Opens the store of the pool; its moment is the database's. */
export function openRunnerStore(database: Database, { classes, times, max_uses }: PoolPolicy): PostgresRunnerStore {
  return new PostgresRunnerStore({ database, classes, times, max_uses, now: () => null });
}
