/** A commit stands in the database's log before others see it: for long where it waits for a standby. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from 'pg';

import type { Database } from '../../src/store/database.ts';
import { missingForBouncer, startBouncer, type Bouncer } from '@heddle/test-support/database-faults/bouncer';
import { eventually } from '@heddle/test-support/eventually';
import { openTestDatabase, startTestServer, type TestServer } from '@heddle/test-support/postgres';
import { listenByPolling } from '../support/store/polling-listener.ts';

const WAITING = `select count(*)::int as n from pg_stat_activity where wait_event = 'SyncRep'`;

describe('a commit that waits', { skip: missingForBouncer() ?? false }, () => {
  let server: TestServer;
  let bouncer: Bouncer;
  let database: Database;
  let admin: Client;
  let writer: Client;

  before(async () => {
    server = await startTestServer({ fsync: false });
    bouncer = await startBouncer(server.url, 'transaction');
    database = openTestDatabase(bouncer.url);
    admin = new Client(server.server.adminUrl);
    writer = new Client(server.url);
    await Promise.all([admin.connect(), writer.connect()]);
  });
  after(async () => {
    await Promise.all([database.close(), admin.end(), writer.end()]);
    await bouncer.stop();
    await server.stop();
  });

  /** Commits wait for a standby that is not there, or no longer. */
  async function waitForStandby(name: string): Promise<void> {
    await admin.query(`alter system set synchronous_standby_names = '${name}'`);
    await admin.query('select pg_reload_conf()');
    await eventually(async () => {
      const { rows } = await admin.query<{ name: string }>(
        `select current_setting('synchronous_standby_names') as name`,
      );
      return rows[0]!.name === name;
    }, 'the setting holds');
  }

  /** Commits until one waits: the process that makes them wait reads the setting after this test's session does. */
  async function commitThatWaits(): Promise<{ ended: Promise<unknown> }> {
    for (;;) {
      const commit = { hasEnded: false };
      const ended = writer.query('insert into public.seen values (1)').then(() => (commit.hasEnded = true));
      const waits = async (): Promise<boolean> => (await admin.query<{ n: number }>(WAITING)).rows[0]!.n === 1;
      await eventually(async () => commit.hasEnded || (await waits()), 'the commit ends or waits');
      if (!commit.hasEnded) return { ended };
    }
  }

  test('is seen when it is visible, however many looks came before', async (t) => {
    await writer.query('create table public.seen (n int)');
    const polling = await listenByPolling(bouncer.url, database);
    t.after(() => polling.close());
    assert.equal(polling.listener.polls, true);
    await waitForStandby('nobody');
    const writing = await commitThatWaits();
    // Its record stands in the log by now.
    for (let round = 0; round < 3; round += 1) await polling.look();
    const { heard } = polling;
    await waitForStandby('');
    await writing.ended;
    await polling.look();
    assert.ok(polling.heard > heard, 'the look after it does not see it');
  });
});
