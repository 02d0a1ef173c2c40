/** What `heddle doctor` reports of the database's sessions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Check } from '../../src/app/check.ts';
import type { Database, Statement } from '../../src/store/database.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { missingForBouncer, startBouncer } from '../support/database-faults/bouncer.ts';
import { heddle } from './heddle-process.ts';

const HOLD: Statement = { name: 'test.hold', text: 'select count(*) from ready' };
const OWN_PID: Statement = { name: 'test.own_pid', text: 'select pg_backend_pid() as pid' };
const REMEDY = 'set HEDDLE_LISTEN_URL to an address of the same database that bypasses the pooler';

async function check(name: string, environment: Record<string, string>): Promise<Check | undefined> {
  const settings = { PORT: '0', POOL_MAX_SIZE: '4', ...environment };
  const { stdout, stderr } = await heddle(['doctor', '--json'], settings);
  assert.notEqual(stdout, '', stderr);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return checks.find((each) => each.name === name);
}

/** Holds a transaction open meanwhile; `run` gets its session. */
async function duringTransaction(database: Database, run: (pid: number) => Promise<void>): Promise<void> {
  await database.transaction(
    async (tx) => {
      await tx.query(HOLD);
      await run((await tx.query<{ pid: number }>(OWN_PID))[0]!.pid);
    },
    { isolation: 'repeatable read' },
  );
}

test('the oldest open transaction is named by its session', async () => {
  const { url, database } = await createTestDatabase();
  const settings = { DATABASE_URL: url };
  assert.equal((await check('oldest transaction', settings))?.message, 'none');
  await duringTransaction(database, async (pid) => {
    const found = await check('oldest transaction', settings);
    assert.match(found?.message ?? '', new RegExp(`^session ${pid} \\(.*idle in transaction\\), open for \\d+ s`));
  });
});

test('a pooler is reported with the setting that bypasses it', { skip: missingForBouncer() ?? false }, async () => {
  const { url } = await createTestDatabase();
  const bouncer = await startBouncer(url, 'transaction');
  try {
    assert.equal(await check('pooler', { DATABASE_URL: url }), undefined);
    const found = await check('pooler', { DATABASE_URL: bouncer.url });
    assert.deepEqual([found?.status, found?.remedy], ['warn', REMEDY]);
    const bypassed = await check('pooler', { DATABASE_URL: bouncer.url, HEDDLE_LISTEN_URL: url });
    assert.equal(bypassed?.status, 'ok');
  } finally {
    await bouncer.stop();
  }
});
