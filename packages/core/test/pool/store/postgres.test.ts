import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { emptyStore } from '../../support/pool/store/empty-store.ts';
import { runnerStoreSuite } from '../../support/pool/store/suite.ts';

let opened: Promise<TestDatabase> | undefined;

// One database for all cases, which run sequentially.
runnerStoreSuite('PostgreSQL', async (settings) => {
  opened ??= createTestDatabase({ maxSize: 2 });
  return emptyStore((await opened).database, settings);
});
