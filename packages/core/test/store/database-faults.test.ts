import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';

import { HeddleError } from '@heddle/base/errors';
import { CircuitBreaker } from '@heddle/base/breaker';
import { systemClock } from '@heddle/base/clock';
import type { Database, DatabaseOptions, Statement } from '../../src/store/database.ts';
import { startProxy, targetOf, unusedPort, type Proxy } from '@heddle/test-support/database-faults/proxy';
import { onServer, startPair, type Pair } from '@heddle/test-support/database-faults/standby';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';

const ONE: Statement = { name: 'one', text: 'select 1 as one' };
const PID: Statement = { name: 'pid', text: 'select pg_backend_pid() as pid' };
const WRITE: Statement = { name: 'write', text: 'insert into written values (1)' };

/** Ends a backend (arguments: URL, process id) and waits until it is gone. */
const TERMINATE = `
  const { Client } = require('pg');
  const client = new Client(process.argv[1]);
  client
    .connect()
    .then(() => client.query('select pg_terminate_backend($1, 60000)', [process.argv[2]]))
    .then(() => client.end());`;

function statement(text: string): Statement {
  return { name: `test.${text.slice(-50)}`, text };
}

function breakerOf(transitions: string[]): CircuitBreaker {
  return new CircuitBreaker({
    enabled: true,
    failureThreshold: 3,
    failureWindowMs: 10_000,
    recoveryTimeoutMs: 0,
    successThreshold: 1,
    clock: systemClock,
    onTransition: (to) => transitions.push(to),
  });
}

function assertBusy(error: unknown): boolean {
  assert.ok(error instanceof HeddleError, String(error));
  assert.deepEqual([error.code, error.status], ['DATABASE_BUSY', 503]);
  assert.ok((error.retryAfterSecs ?? 0) >= 1);
  return true;
}

describe('faults that pass', () => {
  test('of the moment are answered as such: full disk, timeouts of statements and locks', async () => {
    const made = await createTestDatabase({ statementTimeoutMs: 200, lockTimeoutMs: 100, empty: true });
    const { database } = made;
    await database.query(statement('create table held (n int)'));
    const raise = (code: string): Statement =>
      statement(`do $$ begin raise exception using errcode = '${code}'; end $$`);
    await assert.rejects(database.query(raise('53100')), assertBusy);
    await assert.rejects(database.query(statement('select pg_sleep(60)')), assertBusy);
    await database.transaction(async (tx) => {
      await tx.query(statement('lock table held in access exclusive mode'));
      await assert.rejects(database.query(statement('insert into held values (1)')), assertBusy);
    });
    await assert.rejects(
      database.transaction((tx) => tx.query(raise('53200'))),
      assertBusy,
    );
    await assert.rejects(database.query(raise('23505')), { code: '23505' });
    await made.drop();
  });

  test('a connection that the server closes right behind its first answer does not stay in the pool', async () => {
    const made = await createTestDatabase({ empty: true });
    const proxy = await startProxy(targetOf(made.url));
    // ErrorResponse: FATAL 57P01, as a server sends it to all sessions when it shuts down.
    const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command'];
    const body = Buffer.from(`${fields.join('\0')}\0\0`);
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    proxy.endWith(Buffer.concat([Buffer.from('E'), length, body]));
    const database = openTestDatabase(proxy.through(made.url), { minIdle: 1 });
    await eventually(() => database.stats().idle === 1, 'the pool is warm');
    await proxy.close();
    await eventually(() => database.stats().size === 0, 'the connection is gone');
    await database.close();
    await made.drop();
  });

  test('one termination of all connections costs those in use their statement, and no other', async () => {
    const transitions: string[] = [];
    const made = await createTestDatabase({ empty: true });
    const database = openTestDatabase(made.url, { breaker: breakerOf(transitions), minIdle: 8, maxSize: 8 });
    await eventually(() => database.stats().idle === 8, 'the pool is warm');
    const sleeping = Array.from({ length: 7 }, () => database.query(statement('select pg_sleep(600)')));
    const settled = Promise.allSettled(sleeping);
    await eventually(async () => (await active(made.database)) === 7, 'all are at work');
    const terminated = await made.database.query<{ pid: number }>(
      statement(`select pid, pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`),
    );
    for (const { status } of await settled) assert.equal(status, 'rejected');
    await eventually(async () => !(await anyAlive(made.database, terminated)), 'the idle one is gone too');
    assert.deepEqual(await database.query(ONE), [{ one: 1 }]);
    assert.deepEqual(transitions, []);
    await database.close();
    await made.drop();
  });

  test('a statement written to a connection that has just been closed runs on another', async () => {
    const made = await createTestDatabase({ empty: true });
    const database = openTestDatabase(made.url, { minIdle: 1, maxSize: 1 });
    const [first] = await database.query<{ pid: number }>(PID);
    // Blocks this process, so that it cannot notice the end of its connection before it writes.
    execFileSync(process.execPath, ['--eval', TERMINATE, made.url, String(first!.pid)]);
    const [second] = await database.transaction((tx) => tx.query<{ pid: number }>(PID));
    assert.notEqual(second!.pid, first!.pid);
    await database.close();
    await made.drop();
  });
});

async function anyAlive(database: Database, backends: readonly { pid: number }[]): Promise<boolean> {
  const pids = backends.map(({ pid }) => pid);
  return (await database.query(statement('select from pg_stat_activity where pid = any($1)'), [pids])).length > 0;
}

async function active(database: Database): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    statement(`select count(*) as n from pg_stat_activity where datname = current_database() and query like '%pg_sleep(600)%'
      and pid <> pg_backend_pid()`),
  );
  return row!.n;
}

describe('a primary, its standby, and the network before them', () => {
  let pair: Pair;
  let proxy: Proxy;
  const opened: Database[] = [];
  before(async () => {
    pair = await startPair();
    proxy = await startProxy(pair.primaryPort);
    await onServer(pair.primaryUrl, 'create table written (n int)');
  });
  after(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await proxy.close();
    await pair.stop();
  });

  function open(url: string, options: Partial<DatabaseOptions> = {}): Database {
    const database = openTestDatabase(url, { acquireRetries: 0, ...options });
    opened.push(database);
    return database;
  }

  test('a connection that swallows what is sent is abandoned, and so are those beside it', async () => {
    const database = open(proxy.through(pair.primaryUrl), { minIdle: 5, maxSize: 5, answerTimeoutMs: 300 });
    await eventually(() => database.stats().idle === 5, 'the pool is warm');
    proxy.swallow(true);
    await assert.rejects(database.query(ONE), { code: 'DATABASE_UNAVAILABLE' });
    assert.equal(database.stats().idle, 0);
    proxy.swallow(false);
    await eventually(() => succeeds(database.query(ONE)), 'new connections answer');
  });

  test('a commit that waits for a lost standby is abandoned by our own clock', async () => {
    const database = open(pair.primaryUrl, { answerTimeoutMs: 500 });
    await eventually(() => succeeds(database.query(WRITE)), 'commits are acknowledged');
    await pair.whileStandbyIsSilent(async () => {
      await assert.rejects(database.query(WRITE), { code: 'DATABASE_UNAVAILABLE' });
    });
    await eventually(() => succeeds(database.query(WRITE)), 'commits are acknowledged again');
  });

  test('several addresses: the one that takes writes is found, whichever it is and whatever the others do', async () => {
    const path = pair.primaryUrl.replace(/@.*$/, '@');
    const dead = await unusedPort();
    const addresses = [dead, pair.standbyPort, pair.primaryPort].map((port) => `127.0.0.1:${port}`);
    const several = `${path}${addresses.join(',')}/heddle?target_session_attrs=read-write`;
    await open(several).query(WRITE);
    const byParameters = `${path}localhost/heddle?host=127.0.0.1,127.0.0.1&port=${pair.standbyPort},${pair.primaryPort}`;
    await open(byParameters).query(WRITE);
    const unwritable = `${path}${addresses.slice(0, 2).join(',')}/heddle`;
    await assert.rejects(open(unwritable).query(ONE), (error: Error) => {
      assert.match(String(error.cause), /No address .*ECONNREFUSED.*standby, or read-only/);
      return true;
    });
  });

  test('a switchover by name: connections to the old primary are dropped, the new one is used', async () => {
    const database = open(proxy.through(pair.primaryUrl), { minIdle: 3, maxSize: 3 });
    await eventually(() => database.stats().idle === 3, 'the pool is warm');
    // The old primary takes no more writes, on the connections that there are.
    await Promise.all([0, 1, 2].map(() => database.query(statement('set default_transaction_read_only = on'))));
    await assert.rejects(database.query(WRITE), { code: 'DATABASE_UNAVAILABLE' });
    // The others were dropped with it, although they had not failed.
    await database.query(WRITE);

    // The name leads to a standby: readiness says so, for as long as it is one.
    await Promise.all([0, 1, 2].map(() => database.query(statement('set default_transaction_read_only = on'))));
    proxy.pointTo(pair.standbyPort);
    await assert.rejects(database.ping(), { code: 'DATABASE_UNAVAILABLE' });
    await assert.rejects(database.ping(), (error: Error) => /standby/.test(String(error.cause)));
    await pair.promote();
    await eventually(() => succeeds(database.ping()), 'the promoted standby is used');
    await database.query(WRITE);
  });
});

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
