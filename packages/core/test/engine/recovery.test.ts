import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createEngine } from '../../src/engine/engine.ts';
import type { Delivery, Engine } from '../../src/engine/port.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Statement } from '../../src/store/database.ts';
import { attemptsBefore, recoverAttempts } from '../../src/store/recovery.ts';
import { giveBackIndexSpace, oldestSnapshot } from '../../src/store/upkeep.ts';
import { openTestDatabase, testDatabaseUrl, withDatabase } from '@heddle/test-support/postgres';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

const start = { trigger: 'start' as const, params: { url: 'http://127.0.0.1:1/start', verb: 'Post' as const } };
const end = { trigger: 'success' as const, params: { url: 'http://127.0.0.1:1/end', verb: 'Post' as const } };

function take(engine: Engine): Promise<Delivery[]> {
  const limits = { limit: 100, limit_per_origin: 100, saturated_origins: [], lease_ms: 30_000 };
  return engine.claimDeliveries({ holder: 'test', ...limits });
}

function delivered(engine: Engine, { id, tries }: Delivery): Promise<void> {
  return engine.settleDeliveries([{ id, tries, outcome: 'delivered', status: 200 }]);
}

test('a database restored to an earlier moment delivers again under the same ids', async () => {
  const { engine, database, url } = await newBench();
  const { tasks } = await submitTasks(engine, [newTask({ actions: [start, end] })]);
  await engine.close();
  await database.close();
  const server = openTestDatabase(withDatabase(await testDatabaseUrl(), 'postgres'));
  const name = new URL(url).pathname.slice(1);
  await server.query({ name: 'test.copy', text: `create database ${name}_copy template ${name}` });

  const ids: string[][] = [];
  for (const each of [url, withDatabase(url, `${name}_copy`)]) {
    const copy = openTestDatabase(each);
    const there = createEngine({ database: copy, clock: systemClock, random: systemRandom, log: silentLogger });
    await there.claimForDelivery('test', 10);
    const [first] = await take(there);
    await delivered(there, first!);
    await succeed(there, [{ id: tasks[0]!.id, attempt: 1 }]);
    const [second] = await take(there);
    ids.push([first!.id, second!.id]);
    await there.close();
    await copy.close();
  }
  await server.query({ name: 'test.drop', text: `drop database ${name}_copy` });
  await server.close();
  assert.deepEqual(ids[1], ids[0]);
  assert.equal(new Set(ids[0]).size, 2);
});

test('attempts that a restored database holds open are requeued; those to be started, and later ones, are left alone', async () => {
  const { engine, database } = await newBench();
  const { tasks } = await submitTasks(engine, [
    newTask({ actions: [start] }),
    newTask({ kind: 'polled' }),
    newTask({ kind: 'ended' }),
    newTask({ actions: [start], name: 'to be started' }),
  ]);
  const ids = tasks.map(({ id }) => id);
  await engine.claimForDelivery('test', 10);
  const deliveries = await take(engine);
  await delivered(
    engine,
    deliveries.find(({ task_id }) => task_id === ids[0])!,
  );
  await claimKind(engine, 'polled');
  await succeed(engine, await claimKind(engine, 'ended'));
  const states = async (): Promise<unknown[]> => Promise.all(ids.map(async (id) => (await engine.getTask(id))!.state));
  assert.deepEqual(await states(), ['running', 'running', 'succeeded', 'claimed']);

  assert.equal(await recoverAttempts(database, 0), 0);
  const now = systemClock.now() + 60_000;
  assert.equal(await attemptsBefore(database, now), 2);
  assert.equal(await recoverAttempts(database, now), 2);
  assert.equal(await recoverAttempts(database, now), 0);
  assert.deepEqual(await states(), ['pending', 'pending', 'succeeded', 'claimed']);

  const [again] = await claimKind(engine, 'polled');
  assert.equal(again!.attempt, 2);
  await succeed(engine, [{ id: ids[1]!, attempt: 1 }]);
  assert.equal((await engine.getTask(ids[1]!))!.state, 'running', 'the old attempt has no say');
  await succeed(engine, [{ id: ids[1]!, attempt: 2 }]);
  assert.equal((await engine.getTask(ids[1]!))!.state, 'succeeded');
});

const statement = (name: string, text: string): Statement => ({ name: `test.${name}`, text });

test('the oldest transaction is named, and index space that it left behind is given back', async () => {
  const { database } = await newBench();
  const bytes = async (): Promise<number> =>
    (await database.query<{ n: number }>(statement('bytes', `select pg_indexes_size('ready') as n`)))[0]!.n;
  await database.transaction(
    async (tx) => {
      await tx.query(statement('hold', 'select count(*) from ready'));
      const oldest = await oldestSnapshot(database);
      assert.match(oldest!.holder, /^session \d+ \(.*heddle, idle in transaction\)$/);
      assert.ok(oldest!.seconds >= 0);
    },
    { isolation: 'repeatable read' },
  );
  assert.equal(await giveBackIndexSpace(database), false, 'a small index is left alone');
  await database.query(
    statement('fill', `insert into ready select 1, 0, gen_random_uuid(), null from generate_series(1, 100000)`),
  );
  await database.query(statement('empty', 'delete from ready where lane = 1'));
  await database.query(statement('vacuum', 'vacuum (analyze) ready'));
  const before = await bytes();
  assert.ok(before > 4_000_000, `${before} bytes`);
  assert.equal(await giveBackIndexSpace(database), true);
  assert.ok((await bytes()) < 100_000);
  assert.equal(await giveBackIndexSpace(database), false);
});
