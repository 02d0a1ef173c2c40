import { PostgresRunnerStore } from '../../../../src/pool/store/postgres.ts';
import type { Database } from '../../../../src/store/database.ts';
import type { StoreSettings } from './fixture.ts';

const TABLES = [
  '',
  ...'batch budget fit orphan heartbeat request sample shape tenant type'.split(' ').map((name) => `_${name}`),
];

const EMPTY = `with ${TABLES.map((name) => `runner${name}_rows as (delete from runner${name})`).join(', ')} select 1`;

/** Opens a store on a database that is emptied first, which is much faster than creating another. */
export async function emptyStore(
  database: Database,
  { now, ...settings }: StoreSettings,
): Promise<PostgresRunnerStore> {
  await database.query({ name: 'empty', text: EMPTY }, []);
  return new PostgresRunnerStore({ database, ...settings, now: () => new Date(now()).toISOString() });
}
