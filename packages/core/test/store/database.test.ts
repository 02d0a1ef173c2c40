import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { HeddleError } from '@heddle/base/errors';
import type { Database, Queryable, Statement } from '../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { eventually } from '@heddle/test-support/eventually';
import { threadMs } from '@heddle/test-support/processor-time';

const ADD_ACCOUNTS: Statement = {
  name: 'add_accounts',
  text: 'create table account (id int primary key, balance int8 not null)',
};
const FILL: Statement = { name: 'fill', text: 'insert into account select unnest($1::int[]), 100' };
const MOVE: Statement = { name: 'move', text: 'update account set balance = balance + $2 where id = $1' };
const BALANCE: Statement = { name: 'balance', text: 'select balance from account where id = $1' };
const OWN_PID: Statement = { name: 'own_pid', text: 'select pg_backend_pid() as pid' };
const TERMINATE: Statement = { name: 'terminate', text: 'select pg_terminate_backend($1)' };
const CONNECTIONS: Statement = {
  name: 'connections',
  text: 'select pid, application_name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
};

let url: string;
let database: Database;

before(async () => {
  const made = await createTestDatabase({ empty: true });
  ({ url, database } = made);
  await database.query({ name: 'schema', text: 'create schema heddle' });
  await database.query(ADD_ACCOUNTS);
  await database.query(FILL, [[1, 2, 3]]);
});

async function balance(of: Queryable, id: number): Promise<number> {
  return (await of.query<{ balance: number }>(BALANCE, [id]))[0]!.balance;
}

async function pidOf(queryable: Queryable): Promise<number> {
  return (await queryable.query<{ pid: number }>(OWN_PID))[0]!.pid;
}

describe('values', () => {
  test('come back as the types that the code works with', async () => {
    const [row] = await database.query(
      {
        name: 'types',
        text: `select 9007199254740991::int8 as big, array[1, null, 3]::int8[] as bigs,
        '2024-02-29 12:34:56.789999+02'::timestamptz as at, '1999-12-31 23:59:59+00'::timestamptz as whole,
        array['2024-01-01 00:00:00.5+00']::timestamptz[] as ats, 'infinity'::timestamptz as never,
        '0044-03-15 12:00:00+00 BC'::timestamptz as ides,
        $1::jsonb as doc, null::int8 as nothing, current_setting('TimeZone') as zone, current_setting('jit') as jit,
        current_setting('search_path') as path, 1.5::numeric as exact`,
      },
      ['{"a": [1, {"b": null}]}'],
    );
    assert.deepEqual(row, {
      big: 9007199254740991,
      bigs: [1, null, 3],
      at: Date.UTC(2024, 1, 29, 10, 34, 56, 789),
      whole: Date.UTC(1999, 11, 31, 23, 59, 59),
      ats: [Date.UTC(2024, 0, 1, 0, 0, 0, 500)],
      never: Infinity,
      ides: new Date('-000043-03-15T12:00:00Z').getTime(),
      doc: { a: [1, { b: null }] },
      nothing: null,
      zone: 'UTC',
      jit: 'off',
      path: 'heddle, public',
      exact: '1.5',
    });
  });

  test('that cannot be encoded fail their statement, not the next ones', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const echo: Statement = { name: 'echo', text: 'select $1::jsonb as doc' };
    await assert.rejects(one.query(echo, [circular]), TypeError);
    assert.deepEqual(await one.query(echo, ['[1]']), [{ doc: [1] }]);
    await one.close();
  });
});

describe('transactions', () => {
  test('commit what they did and return what they were given', async () => {
    const before = await balance(database, 3);
    const result = await database.transaction(async (tx) => {
      await Promise.all([tx.query(MOVE, [3, 5]), tx.query(MOVE, [3, 7])]);
      return balance(tx, 3);
    });
    assert.equal(result, before + 12);
    assert.equal(await balance(database, 3), before + 12);
  });

  test('roll back when their work throws, and the connection serves on', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    const before = await balance(one, 3);
    const pid = await pidOf(one);
    const work = one.transaction(async (tx) => {
      await tx.query(MOVE, [3, 1]);
      throw new Error('changed my mind');
    });
    await assert.rejects(work, /changed my mind/);
    assert.equal(await balance(one, 3), before);
    assert.equal(await pidOf(one), pid);
    await one.close();
  });

  test('do not pass for committed when a failed statement was swallowed', async () => {
    const work = database.transaction(async (tx) => {
      await tx.query(MOVE, [3, 1]);
      await tx.query({ name: 'wrong', text: 'select 1 / 0' }).catch(() => undefined);
    });
    await assert.rejects(work, /rolled back/);
  });

  test('that send statements together learn why the first failed, not that those behind it did', async () => {
    for (let round = 0; round < 20; round += 1) {
      const work = database.transaction(async (tx) => {
        // The failure is reported later than the result behind it.
        const first = tx.query(FILL, [[1]]).finally(() => Promise.resolve());
        await Promise.all([first, tx.query(BALANCE, [1])]);
      });
      await assert.rejects(work, { code: '23505' });
    }
  });

  test('take no statement after their end', async () => {
    let escaped: Queryable | undefined;
    await database.transaction((tx) => Promise.resolve((escaped = tx)));
    await assert.rejects(escaped!.query(OWN_PID), /after its transaction had ended/);
  });

  test('honour isolation and read only', async () => {
    const settings = await database.transaction(
      (tx) =>
        tx.query({
          name: 'isolation',
          text: `select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as ro`,
        }),
      { isolation: 'repeatable read', readOnly: true },
    );
    assert.deepEqual(settings, [{ isolation: 'repeatable read', ro: 'on' }]);
  });

  test('that deadlock run again until both are through', async () => {
    const [first, second] = [await balance(database, 1), await balance(database, 2)];
    let runs = 0;
    const gate = Promise.withResolvers<undefined>();
    let arrived = 0;
    const move = (from: number, to: number): Promise<void> =>
      database.transaction(async (tx) => {
        runs += 1;
        await tx.query(MOVE, [from, -1]);
        // Both hold their first row before either asks for its second one.
        arrived += 1;
        if (arrived >= 2) gate.resolve(undefined);
        await gate.promise;
        await tx.query(MOVE, [to, 1]);
      });
    await Promise.all([move(1, 2), move(2, 1)]);
    assert.ok(runs > 2, `the deadlock did not happen: ${runs} runs`);
    assert.deepEqual([await balance(database, 1), await balance(database, 2)], [first, second]);
  });

  test('that meet a newer row under repeatable read run again', async () => {
    const before = await balance(database, 1);
    let runs = 0;
    await database.transaction(
      async (tx) => {
        runs += 1;
        await balance(tx, 1);
        if (runs === 1) await database.query(MOVE, [1, 10]);
        await tx.query(MOVE, [1, 1]);
      },
      { isolation: 'repeatable read' },
    );
    assert.equal(runs, 2);
    assert.equal(await balance(database, 1), before + 11);
  });
});

describe('statements', () => {
  test('keep their SQLSTATE when they fail', async () => {
    await assert.rejects(database.query(FILL, [[1]]), { code: '23505' });
  });

  test('survive a change of their table', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    await one.query({ name: 'shape', text: 'create table shape (a int)' });
    const all: Statement = { name: 'all_shapes', text: 'select * from shape' };
    assert.deepEqual(await one.query(all), []);
    await one.query({ name: 'widen', text: 'alter table shape add b int' });
    await one.query({ name: 'add_shape', text: 'insert into shape values (1, 2)' });
    assert.deepEqual(await one.query(all), [{ a: 1, b: 2 }]);
    await one.close();
  });

  test('are measured, and slow ones counted', async () => {
    const durations: string[] = [];
    const slow: string[] = [];
    const measured = openTestDatabase(url, {
      slowQueryMs: 1_000,
      metrics: { queryDuration: (name) => durations.push(name), slowQuery: (name) => slow.push(name) },
    });
    await measured.query(OWN_PID);
    await measured.transaction((tx) => tx.query({ name: 'nap', text: 'select pg_sleep(1.1)' }));
    assert.deepEqual(durations, ['own_pid', 'nap', 'commit']);
    assert.ok(slow.includes('nap') && !slow.includes('commit'));
    await measured.close();
  });

  test('are not slow because this process was busy when their answers came', async () => {
    const slow: string[] = [];
    const metrics = { queryDuration: () => undefined, slowQuery: (name: string) => slow.push(name) };
    const measured = openTestDatabase(url, { slowQueryMs: 1_000, metrics });
    await measured.query(OWN_PID);
    const answer = measured.query(OWN_PID);
    for (const startedMs = threadMs(); threadMs() - startedMs < 1_500;);
    await answer;
    assert.deepEqual(slow, []);
    await measured.close();
  });
});

describe('the pool', () => {
  test('never exceeds its size, and reports itself', async () => {
    const two = openTestDatabase(url, { maxSize: 2 });
    const gate = Promise.withResolvers<undefined>();
    const holders = [1, 2].map(() => two.transaction((tx) => tx.query(OWN_PID).then(() => gate.promise)));
    await eventually(() => two.stats().size === 2 && two.stats().idle === 0, 'both connections are out');
    const waiters = [1, 2, 3].map(() => two.query(OWN_PID));
    const session = { pooled: false, polls: false };
    assert.deepEqual(two.stats(), { size: 2, idle: 0, waiting: 3, ...session });
    gate.resolve(undefined);
    await Promise.all([...holders, ...waiters]);
    assert.deepEqual(two.stats(), { size: 2, idle: 2, waiting: 0, ...session });
    await two.close();
  });

  test('serves in the order of asking', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    const finished: number[] = [];
    const gate = Promise.withResolvers<undefined>();
    const holder = one.transaction((tx) => tx.query(OWN_PID).then(() => gate.promise));
    await eventually(() => one.stats().size === 1 && one.stats().idle === 0, 'the connection is out');
    const waiters = [1, 2, 3, 4].map((n) => one.query(OWN_PID).then(() => finished.push(n)));
    gate.resolve(undefined);
    await Promise.all([holder, ...waiters]);
    assert.deepEqual(finished, [1, 2, 3, 4]);
    await one.close();
  });

  test('gives the place of a lost connection to who waited first, and does not grow beyond its size', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    const pid = await pidOf(one);
    const holder = one.transaction((tx) => tx.query({ name: 'own_pid_slowly', text: 'select pg_sleep(60)' }));
    const order: number[] = [];
    const waiters = [1, 2].map((n) => one.query(OWN_PID).then(() => order.push(n)));
    await eventually(() => one.stats().waiting === 2, 'two wait');
    const sizes = new Set<number>();
    holder.catch(() => {
      // A newcomer at the very moment when the place comes free.
      waiters.push(one.query(OWN_PID).then(() => order.push(3)));
      sizes.add(one.stats().size);
    });
    await database.query(TERMINATE, [pid]);
    await assert.rejects(holder, { code: 'DATABASE_UNAVAILABLE' });
    await eventually(() => order.length === 3, 'all are served');
    assert.deepEqual(order, [1, 2, 3]);
    assert.deepEqual([...sizes], [1]);
    await one.close();
  });

  test('refuses with DATABASE_UNAVAILABLE when no connection comes free in time', async () => {
    const one = openTestDatabase(url, { maxSize: 1, acquireTimeoutMs: 100 });
    const gate = Promise.withResolvers<undefined>();
    const holder = one.transaction((tx) => tx.query(OWN_PID).then(() => gate.promise));
    await eventually(() => one.stats().size === 1 && one.stats().idle === 0, 'the connection is out');
    await assert.rejects(one.query(OWN_PID), (error: HeddleError) => {
      assert.equal(error.code, 'DATABASE_UNAVAILABLE');
      assert.ok((error.retryAfterSecs ?? 0) >= 1);
      assert.match(String(error.cause), /1 connections were busy/);
      return true;
    });
    assert.equal(one.stats().waiting, 0);
    gate.resolve(undefined);
    await holder;
    await one.query(OWN_PID);
    await one.close();
  });

  test('replaces connections that were killed, idle or at work', async () => {
    const one = openTestDatabase(url, { maxSize: 1 });
    const pid = await pidOf(one);
    await database.query(TERMINATE, [pid]);
    await eventually(() => one.stats().size === 0, 'the idle connection is dropped');
    const napping = one.transaction((tx) => tx.query({ name: 'long_nap', text: 'select pg_sleep(60)' }));
    // Listened to from the start: its end may arrive before the answer of what ended it.
    const woken = assert.rejects(napping, { code: 'DATABASE_UNAVAILABLE' });
    const victim = await eventually(async () => {
      const rows = await database.query<{ pid: number }>({
        name: 'nappers',
        text: `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
      });
      return rows[0]?.pid;
    }, 'the nap has begun');
    await database.query(TERMINATE, [victim]);
    await woken;
    assert.notEqual(await pidOf(one), victim);
    await one.close();
  });

  test('keeps connections warm, again after they were lost', async () => {
    const warm = openTestDatabase(url, { minIdle: 3 });
    await eventually(() => warm.stats().idle === 3, 'three connections are warm');
    const pid = await pidOf(warm);
    await database.query(TERMINATE, [pid]);
    await eventually(async () => {
      const rows = await database.query<{ pid: number }>(CONNECTIONS);
      return warm.stats().idle === 3 && rows.every((row) => row.pid !== pid);
    }, 'the lost one is replaced');
    await warm.close();
  });

  test('closes connections beyond the warm ones when they are idle', async () => {
    const shrinking = openTestDatabase(url, { minIdle: 1, idleTimeoutMs: 50 });
    await Promise.all(Array.from({ length: 5 }, () => shrinking.query({ name: 'nod', text: 'select pg_sleep(0.02)' })));
    assert.ok(shrinking.stats().size > 1);
    await eventually(() => shrinking.stats().size === 1, 'one connection is left');
    await shrinking.close();
  });

  test('ends everything on close: connections, waiters, listeners', async () => {
    const closing = openTestDatabase(url, { maxSize: 1, applicationName: 'closing' });
    await closing.listen('closing', () => undefined);
    const gate = Promise.withResolvers<undefined>();
    const begun = Promise.withResolvers<undefined>();
    const holder = closing.transaction(async (tx) => {
      await tx.query(OWN_PID);
      begun.resolve(undefined);
      await gate.promise;
    });
    await begun.promise;
    const waiter = closing.query(OWN_PID);
    const closed = closing.close();
    await assert.rejects(waiter, { code: 'DATABASE_UNAVAILABLE' });
    gate.resolve(undefined);
    await holder;
    await closed;
    await assert.rejects(closing.query(OWN_PID), { code: 'DATABASE_UNAVAILABLE' });
    await eventually(async () => {
      const rows = await database.query<{ application_name: string }>(CONNECTIONS);
      return rows.every(({ application_name: name }) => name !== 'closing' && name !== 'heddle listener');
    }, 'no connection is left');
  });
});

describe('notifications', () => {
  const NOTIFY: Statement = { name: 'notify', text: 'select pg_notify($1, $2)' };

  test('reach every subscriber of their channel until it unsubscribes', async () => {
    const heard: string[] = [];
    const endFirst = await database.listen('News', (payload) => heard.push(`first ${payload}`));
    const endSecond = await database.listen('News', (payload) => heard.push(`second ${payload}`));
    await database.listen('other', (payload) => heard.push(`other ${payload}`));
    await database.query(NOTIFY, ['News', 'one']);
    await eventually(() => heard.length === 2, 'both heard the first');
    await endFirst();
    await database.query(NOTIFY, ['News', 'two']);
    await eventually(() => heard.length === 3, 'one heard the second');
    await endSecond();
    await database.query(NOTIFY, ['News', 'three']);
    await database.query(NOTIFY, ['other', 'four']);
    await eventually(() => heard.length === 4, 'the other channel still works');
    assert.deepEqual(heard, ['first one', 'second one', 'second two', 'other four']);
  });

  test('resume after the connection was lost, with an empty payload first', async () => {
    const listening = openTestDatabase(url);
    after(() => listening.close());
    const heard: string[] = [];
    await listening.listen('work', (payload) => heard.push(payload));
    await database.query({
      name: 'terminate_listeners',
      text: `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'heddle listener' and datname = current_database()`,
    });
    await eventually(() => heard.includes(''), 'the reconnect is announced');
    await database.query(NOTIFY, ['work', 'again']);
    await eventually(() => heard.at(-1) === 'again', 'notifications arrive again');
  });
});
