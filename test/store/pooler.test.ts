import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { createEngine } from '../../src/engine/engine.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import type { Database, Statement } from '../../src/store/database.ts';
import { claimKind, newTask, submitTasks, succeed } from '../engine/fixture.ts';
import { missingForBouncer, startBouncer, type Bouncer } from '../support/database-faults/bouncer.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.ts';

const NOTIFY: Statement = { name: 'test.notify', text: `select pg_notify('work', 'on')` };
const WRITE: Statement = { name: 'test.write', text: 'create table if not exists public.written (n int)' };
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
