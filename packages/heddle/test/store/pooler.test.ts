import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { createEngine } from '@heddle/core/engine/engine';
import { migrationUrlOf } from '../../src/app/database-access.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Database, Statement } from '@heddle/core/store/database';
import { latestVersion, migrate } from '@heddle/core/store/migrate';
import { claimKind, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import { missingForBouncer, startBouncer, type Bouncer } from '@heddle/test-support/database-faults/bouncer';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '@heddle/test-support/postgres';
import { listenByPolling } from '../../../core/test/support/store/polling-listener.ts';

const NOTIFY: Statement = { name: 'test.notify', text: `select pg_notify('work', 'on')` };
const WRITE: Statement = { name: 'test.write', text: 'create table if not exists public.written (n int)' };
const CREATE: Statement = { name: 'test.create', text: 'create table public.seen (n int)' };
const INSERT: Statement = { name: 'test.insert', text: 'insert into public.seen values (1)' };
const LOCKS: Statement = {
  name: 'test.locks',
  text: `select count(*) as n from pg_locks l join pg_database d on d.oid = l.database
    where l.locktype = 'advisory' and d.datname = current_database()`,
};
const SETTINGS: Statement = {
  name: 'test.settings',
  text: `select current_setting('search_path') as path, current_setting('statement_timeout') as timeout`,
};

const missing = missingForBouncer();

describe('PgBouncer', { skip: missing ?? false }, () => {
  let direct: TestDatabase;
  let transactions: Bouncer;
  let sessions: Bouncer;
  const opened: Database[] = [];
  before(async () => {
    direct = await createTestDatabase();
    [transactions, sessions] = await Promise.all([
      startBouncer(direct.url, 'transaction'),
      startBouncer(direct.url, 'session'),
    ]);
  });
  after(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await Promise.all([transactions.stop(), sessions.stop()]);
    await direct.drop();
  });

  function open(url: string, options: Parameters<typeof openTestDatabase>[1] = {}): Database {
    const database = openTestDatabase(url, options);
    opened.push(database);
    return database;
  }

  test('in transaction mode: statements work whichever session they meet, with their settings', async () => {
    const [one, two] = [open(transactions.url), open(transactions.url)];
    for (let round = 0; round < 20; round += 1) {
      const answers = await Promise.all(
        [one, two, one, two, one, two].map((database) =>
          database.query<{ path: string; timeout: string }>(SETTINGS, []),
        ),
      );
      for (const [row] of answers) assert.deepEqual(row, { path: 'heddle, public', timeout: '1min' });
    }
    assert.equal(one.stats().pooled, true);
    assert.equal(direct.database.stats().pooled, false);
    const engine = createEngine({ database: one, clock: systemClock, random: systemRandom, log: silentLogger });
    const other = createEngine({ database: two, clock: systemClock, random: systemRandom, log: silentLogger });
    const { tasks } = await submitTasks(
      engine,
      Array.from({ length: 50 }, () => newTask()),
    );
    await succeed(engine, await claimKind(other));
    for (const { id } of tasks) assert.equal((await other.getTask(id))!.state, 'succeeded');
    await engine.close();
    await other.close();
  });

  test('in transaction mode: changes are looked for where notifications are kept back', async () => {
    const database = open(transactions.url);
    const heard: string[] = [];
    const unlisten = await database.listen('work', (payload) => heard.push(payload));
    assert.equal(database.stats().polls, true);
    await eventually(() => heard.length > 0, 'the first look');
    const before = heard.length;
    await direct.database.query(WRITE);
    await eventually(() => heard.length > before, 'a change is noticed');
    assert.deepEqual([...new Set(heard)], ['']);
    await unlisten();
  });

  test('in transaction mode: a change is seen at the next look, and looks are at most half a second apart', async (t) => {
    const polling = await listenByPolling(transactions.url, open(transactions.url));
    t.after(() => polling.close());
    assert.equal(polling.listener.polls, true);
    const waits: number[] = [];
    for (let round = 0; round < 30; round += 1) waits.push(await polling.look());
    for (const change of [NOTIFY, CREATE, INSERT]) {
      await direct.database.query(change);
      const { heard, looks } = polling;
      waits.push(await polling.look());
      assert.ok(polling.heard > heard, `${change.name} was not seen at the next look`);
      assert.equal(polling.looks, looks + 1);
    }
    assert.ok(Math.min(...waits) >= 50 && Math.max(...waits) <= 505, `waits of ${waits.join(', ')} ms`);
  });

  test('in transaction mode: many migrate an empty database at the same time, each migration once', async (t) => {
    const empty = await createTestDatabase({ empty: true });
    const bouncer = await startBouncer(empty.url, 'transaction');
    t.after(() => bouncer.stop());
    const results = await Promise.all([
      ...Array.from({ length: 3 }, () => migrate({ url: bouncer.url })),
      migrate({ url: empty.url }),
    ]);
    const latest = await latestVersion();
    for (const { to } of results) assert.equal(to, latest);
    assert.equal(new Set(results.flatMap(({ applied }) => applied)).size, latest);
    assert.equal(
      results.reduce((sum, { applied }) => sum + applied.length, 0),
      latest,
    );
    assert.equal(results.filter(({ functionsReplaced }) => functionsReplaced).length, 1);
    const again = await migrate({ url: bouncer.url });
    assert.deepEqual([again.applied, again.functionsReplaced], [[], false]);
    const [{ n }] = (await empty.database.query<{ n: number }>(LOCKS, [])) as [{ n: number }];
    assert.equal(n, 0, 'no session of the pooler keeps the lock');
    await empty.drop();
  });

  test('migrations go past it where an address is known, and never to another database than the embedded one', () => {
    const listenUrl = direct.url;
    assert.equal(migrationUrlOf({ databaseUrl: transactions.url, listenUrl }, transactions.url), listenUrl);
    assert.equal(
      migrationUrlOf({ databaseUrl: transactions.url, listenUrl: null }, transactions.url),
      transactions.url,
    );
    assert.equal(migrationUrlOf({ databaseUrl: null, listenUrl }, 'postgresql:///embedded'), 'postgresql:///embedded');
  });

  test('HEDDLE_LISTEN_URL goes past it; in session mode notifications pass', async () => {
    for (const database of [open(transactions.url, { listenUrl: direct.url }), open(sessions.url)]) {
      const heard: string[] = [];
      const unlisten = await database.listen('work', (payload) => heard.push(payload));
      assert.equal(database.stats().polls, false);
      await direct.database.query(NOTIFY);
      await eventually(() => heard.includes('on'), 'the notification arrives');
      await unlisten();
    }
  });
});
