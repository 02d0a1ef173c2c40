import { PostgresRunnerStore } from '../../../src/pool/store/postgres.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { runnerStoreSuite } from './suite.ts';

runnerStoreSuite('PostgreSQL', async ({ now, ...settings }) => {
  const { database } = await createTestDatabase({ maxSize: 2 });
  return new PostgresRunnerStore({ database, ...settings, now: () => new Date(now()).toISOString() });
});
