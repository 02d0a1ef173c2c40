/** `heddle doctor` as a real process, on databases that need attention. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import type { Statement } from '@heddle/core/store/database';
import { missingForBouncer, startBouncer } from '@heddle/test-support/database-faults/bouncer';
import { createTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { heddle } from '@heddle/test-support/app/heddle-process';

const LOOK: Statement = { name: 'test.look', text: 'select count(*) from ready' };

interface Check {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly remedy: string | null;
}

async function newDatabase(t: TestContext): Promise<TestDatabase> {
  const made = await createTestDatabase();
  t.after(() => made.drop());
  return made;
}

async function checkOf(name: string, environment: Record<string, string>): Promise<Check | undefined> {
  const { stdout, stderr } = await heddle(['doctor', '--json'], { PORT: '0', ...environment });
  assert.notEqual(stdout, '', stderr);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return checks.find((check) => check.name === name);
}

test('the oldest transaction is named', async (t) => {
  const { url, database } = await newDatabase(t);
  const read = { isolation: 'repeatable read' } as const;
  const found = await database.transaction(async (tx) => {
    await tx.query(LOOK);
    return checkOf('oldest transaction', { DATABASE_URL: url });
  }, read);
  assert.match(found?.message ?? '', /^session \d+ \(.*heddle, idle in transaction\), open for \d+ s/);
});

test('a pooler is reported, unless notifications bypass it', { skip: missingForBouncer() ?? false }, async (t) => {
  const { url } = await newDatabase(t);
  const bouncer = await startBouncer(url, 'transaction');
  t.after(() => bouncer.stop());
  assert.equal(await checkOf('pooler', { DATABASE_URL: url }), undefined);
  const pooled = await checkOf('pooler', { DATABASE_URL: bouncer.url });
  assert.equal(pooled?.status, 'warn');
  assert.match(pooled.remedy ?? '', /HEDDLE_LISTEN_URL/);
  const past = await checkOf('pooler', { DATABASE_URL: bouncer.url, HEDDLE_LISTEN_URL: url });
  assert.equal(past?.status, 'ok');
});
