/** What settling messages reads does not grow with what waits in the queue, whatever the statistics of its table say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { newId } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { Database, Queryable } from '../../src/store/database.ts';
import {
  deadLetterMessages,
  deleteMessages,
  hideMessages,
  insertMessages,
  takeMessages,
  type MessageRow,
} from '../../src/store/queue-messages.ts';

const QUEUE = 'deep';
const WAITING = 3_000;
const TAKEN = 10;
/** One descent finds each message; the rest is room for what is read of its older versions. */
const READ_MAX = TAKEN * 5;

const READ = {
  name: 'test.read',
  text: `select (seq_tup_read + idx_tup_fetch)::integer as n from pg_stat_xact_user_tables where relname = 'queue_message'`,
};
const EMPTY = { name: 'test.empty', text: 'delete from queue_message' };
const ANALYZE = { name: 'test.analyze', text: 'vacuum analyze queue_message' };

async function readBy(tx: Queryable, work: () => Promise<unknown>): Promise<number> {
  const rowsRead = async (): Promise<number> => (await tx.query<{ n: number }>(READ))[0]!.n;
  const before = await rowsRead();
  await work();
  return (await rowsRead()) - before;
}

async function send(queryable: Queryable, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => ({ id: newId(), delay_ms: 0, body: '{}' }));
  await insertMessages(queryable, QUEUE, messages, null);
}

async function take(queryable: Queryable): Promise<MessageRow[]> {
  const options = { queue: QUEUE, max: TAKEN, visibilityMs: 60_000, maxReceives: 10, bytes: 1e9, fromMs: null };
  return (await takeMessages(queryable, options, null)).rows;
}

type Settle = (queryable: Queryable, rows: readonly MessageRow[]) => Promise<number>;

const SETTLE: Record<string, Settle> = {
  delete: (queryable, rows) => deleteMessages(queryable, QUEUE, rows),
  hide: (queryable, rows) =>
    hideMessages(queryable, { queue: QUEUE, receipts: rows, delayMs: 60_000, release: false }, null),
  'dead-letter': (queryable, rows) =>
    deadLetterMessages(
      queryable,
      QUEUE,
      rows.map((row) => ({ ...row, reason: 'a test' })),
      null,
    ),
};

async function settleOne(queryable: Queryable, settle: Settle): Promise<void> {
  await send(queryable, 1);
  assert.equal(await settle(queryable, await take(queryable)), 1);
}

async function assertReadsFew(database: Database, settle: Settle): Promise<void> {
  await send(database, WAITING);
  await database.transaction(async (tx) => {
    const rows = await take(tx);
    assert.equal(rows.length, TAKEN);
    const read = await readBy(tx, () => settle(tx, rows));
    assert.ok(read <= READ_MAX, `${read} rows were read for ${TAKEN} messages`);
  });
}

for (const [name, settle] of Object.entries(SETTLE)) {
  test(`${name}: plans made while the queue was empty serve a full one`, async () => {
    const { database } = await createTestDatabase({ maxSize: 1 });
    await send(database, WAITING);
    await database.query(EMPTY);
    await database.query(ANALYZE);
    assert.equal(await settle(database, []), 0);
    // More often than PostgreSQL plans a statement for its values before it plans it once for all.
    for (let round = 0; round < 8; round += 1) await settleOne(database, settle);
    await assertReadsFew(database, settle);
  });

  test(`${name}: a table without statistics is not read either`, async () => {
    const { database } = await createTestDatabase({ maxSize: 1 });
    await assertReadsFew(database, settle);
  });
}
