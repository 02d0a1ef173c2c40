/** Submissions and their entries of the audit log, which share a transaction, on a real database and engine. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { auditHash, NO_AUDIT_HASH } from '@heddle/base/audit-chain';
import { systemClock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { AuditEntry } from '@heddle/base/vocabulary/audit';
import { createAuditLog, type AuditLog } from '@heddle/core/engine/audit-log';
import { createEngine, type TransactionalEngine } from '@heddle/core/engine/engine';
import type { ClaimAlong } from '@heddle/core/engine/port';
import type { Database, Statement } from '@heddle/core/store/database';
import { createTestServer, task, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';

const NO_FILTER = { actor: null, action: null, object: null, since: null };

const logged: string[] = [];
const note = (_fields: unknown, message = ''): void => void logged.push(message);
const log: Logger = { debug: note, info: note, warn: note, error: note, child: () => log };

let database: Database;
let audit: AuditLog;
let engine: TransactionalEngine;
let server: TestServer;
let url: string;

before(async () => {
  ({ database } = await createTestDatabase());
  const common = { database, clock: systemClock, log };
  audit = createAuditLog({ ...common, retentionMs: 3_600_000 });
  engine = createEngine({ ...common, random: systemRandom });
  server = await createTestServer({ engine, database, audit });
  url = await server.app.listen({ host: '127.0.0.1', port: 0 });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

async function submit(tasks: unknown[], headers: Record<string, string> = {}): Promise<string> {
  const answer = await fetch(`${url}/task`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(tasks),
  });
  assert.equal(answer.status, 201, await answer.text());
  return answer.headers.get('x-batch-id')!;
}

const allEntries = (): Promise<AuditEntry[]> => audit.list({ after: 0 }, NO_FILTER, 10_000);

async function entriesOf(batch: string): Promise<[string, number | null, string | null][]> {
  const found = await audit.list({ after: 0 }, { ...NO_FILTER, object: batch }, 10);
  return found.map(({ action, status, address }) => [action, status, address]);
}

const SAME_TRANSACTION: Statement = {
  name: 'test.same_transaction',
  text: `select bool_and(w.xmin = a.xmin) as same from workflow w, audit_entry a
    where w.id::text = $1::text and (a.entry::json) ->> 'object' = $1::text`,
};

/** Returns whether one transaction wrote a batch and its entry. */
async function inOneTransaction(batch: string): Promise<boolean> {
  const [row] = await database.query<{ same: boolean }>(SAME_TRANSACTION, [batch]);
  return row!.same;
}

const ENTRY = ['POST /task', 201, '127.0.0.1'];

test('a batch and its entry are stored by one transaction, whatever the size of the batch', async () => {
  for (const size of [1, 3, 100]) {
    const batch = await submit(Array.from({ length: size }, () => task()));
    assert.deepEqual(await entriesOf(batch), [ENTRY]);
    assert.equal(await inOneTransaction(batch), true, `${size} tasks`);
  }
});

test('so are a batch and its entry if a worker of this process takes its tasks along', async () => {
  const lanes = ['kind:taken-along'];
  const taken: number[] = [];
  const along: ClaimAlong = {
    request: { lanes, limit: 1, holder: 'here' },
    arrived: (tasks) => void taken.push(tasks?.length ?? -1),
  };
  const withdraw = engine.offerToClaim(lanes, () => along);
  const batch = await submit([task({ kind: 'taken-along' })]);
  withdraw();
  assert.deepEqual(taken, [1]);
  assert.deepEqual(await entriesOf(batch), [ENTRY]);
  assert.equal(await inOneTransaction(batch), true);
});

test('concurrent batches have an entry each, and the chain holds', async () => {
  const before = (await allEntries()).length;
  const batches = await Promise.all(Array.from({ length: 100 }, () => submit([task()])));
  const entries = await allEntries();
  const objects = entries.slice(before).map(({ object }) => object);
  assert.deepEqual(objects.toSorted(), batches.toSorted());
  let previous = NO_AUDIT_HASH;
  for (const entry of entries) {
    previous = auditHash(previous, entry);
    assert.equal(entry.hash, previous);
  }
});

test('a repeated request with an idempotency key has an entry for each time', async () => {
  const key = { 'idempotency-key': 'twice' };
  const batch = await submit([task()], key);
  assert.equal(await submit([task()], key), batch);
  const entries = (await allEntries()).slice(-2);
  assert.deepEqual(
    entries.map(({ action, status }) => [action, status]),
    [ENTRY.slice(0, 2), ENTRY.slice(0, 2)],
  );
});

test('an audit log that cannot be written keeps no task from being stored, and the log of the process says so', async () => {
  const before = (await allEntries()).length;
  const constrain = (change: string): Promise<unknown> =>
    database.query({ name: `test.${change.slice(0, 3)}`, text: `alter table audit_entry ${change}` });
  await constrain('add constraint broken check (seq < 0) not valid');
  logged.length = 0;
  const batches = await Promise.all(Array.from({ length: 5 }, () => submit([task()])));
  await constrain('drop constraint broken');
  const [stored] = await database.query<{ n: number }>({
    name: 'test.stored',
    text: `select count(*)::integer as n from workflow where id = any('{${batches.join(',')}}'::uuid[])`,
  });
  assert.equal(stored!.n, 5);
  assert.equal((await allEntries()).length, before);
  assert.equal(logged.filter((line) => line === 'an entry of the audit log could not be stored').length, 5);
});
