import { PostgresRunnerStore } from '../../../src/pool/store/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts';
import { runnerStoreSuite } from './suite.ts';

const TABLES = [
  '',
  ...'batch budget fit orphan pulse request sample shape tenant type'.split(' ').map((name) => `_${name}`),
];

const EMPTY = `with ${TABLES.map((name) => `runner${name}_rows as (delete from runner${name})`).join(', ')} select 1`;

let opened: Promise<TestDatabase> | undefined;

// One database for all cases, which run one after the other: emptying it takes far less time than making another.
runnerStoreSuite('PostgreSQL', async ({ now, ...settings }) => {
  opened ??= createTestDatabase({ maxSize: 2 });
  const { database } = await opened;
  await database.query({ name: 'empty', text: EMPTY }, []);
  return new PostgresRunnerStore({ database, ...settings, now: () => new Date(now()).toISOString() });
});
