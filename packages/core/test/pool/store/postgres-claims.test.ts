/** Behaviour of the PostgreSQL store beyond the common suite: choices among many, lanes of tasks, notifications. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { PostgresBackend } from '../../../src/pool/backends/postgres.ts';
import { newId } from '@heddle/base/random';
import type { Database, Statement } from '../../../src/store/database.ts';
import { POOL_CHANNEL, RUNNER_CHANNEL, SETTLED } from '../../../src/store/runners/notice-queue.ts';
import { eventually } from '@heddle/test-support/eventually';
import { many, newRequest, openField, seedIdle } from '../../support/pool/store/seed.ts';

const EMPTY: Statement = {
  name: 'test.empty',
  text: `with runners as (delete from runner), requests as (delete from runner_request) delete from runner_heartbeat`,
};

const TASK: Statement = {
  name: 'test.task',
  text: `with task as (
      insert into task (id, workflow_id, kind_id, state, attempt, priority, timeout_secs, created_at, updated_at, name, metadata,
        needs_runner)
      values ($1, $1, 1, 1, $2, 7, 60, now(), now(), 'it', '{}', true) returning id)
    insert into ready (lane, rank, task_id) select -1, -7, id from task`,
};

const BEGIN: Statement = {
  name: 'test.begin',
  text: `with gone as (delete from ready where task_id = $1)
    update task set state = 3, attempt = attempt + 1, lease_id = 1 where id = $1`,
};

const BLOCK: Statement = {
  name: 'test.block',
  text: `with gone as (delete from ready where task_id = $1 returning lane)
    insert into blocked (slot_id, rank, task_id, lane, max, sole) select 1, -7, $1, lane, 1, false from gone`,
};

const LANES: Statement = {
  name: 'test.lanes',
  text: `select lane from ready where task_id = $1 union all select lane from blocked where task_id = $1`,
};

async function laneOf(database: Database, task: string): Promise<number | null> {
  const rows = await database.query<{ lane: number }>(LANES, [task]);
  return rows[0]?.lane ?? null;
}

test('as many requests as possible are served, however their candidates overlap', async () => {
  const { store, database } = await openField();
  const types = ['a', 'b', 'c', 'd'];
  const subset = fc.subarray(types, { minLength: 1 });
  const cases = fc.tuple(
    fc.array(fc.constantFrom(...types), { maxLength: 8 }),
    fc.array(subset, { minLength: 2, maxLength: 8 }),
  );
  await fc.assert(
    fc.asyncProperty(cases, async ([supply, wishes]) => {
      await database.query(EMPTY);
      if (supply.length > 0) {
        await seedIdle(
          database,
          supply.map((type) => `${type}.large`),
        );
      }
      const requests = wishes.map((wish) => newRequest({ types: wish.map((type) => `${type}.*`) }));
      await store.ask(requests);
      const grants = await store.claimIdle(100);
      assert.equal(grants.length, mostServed(supply, wishes));
      // No request moves for a later one.
      const turn = new Map(requests.map(({ id }, index) => [id, index]));
      const served = grants.map(({ request_id }) => turn.get(request_id)!);
      assert.deepEqual(served, firstServed(supply, wishes));
    }),
    { numRuns: 60 },
  );
});

/** The maximum matching, by augmenting paths. */
function mostServed(supply: readonly string[], wishes: readonly (readonly string[])[]): number {
  const holder = new Map<number, number>();
  const place = (wish: number, seen: Set<number>): boolean =>
    supply.some((type, index) => {
      if (seen.has(index) || !wishes[wish]!.includes(type)) return false;
      seen.add(index);
      const other = holder.get(index);
      if (other !== undefined && !place(other, seen)) return false;
      holder.set(index, wish);
      return true;
    });
  return wishes.filter((_, wish) => place(wish, new Set())).length;
}

/** Requests in queue order that can be served together with earlier ones. */
function firstServed(supply: readonly string[], wishes: readonly (readonly string[])[]): number[] {
  const chosen: number[] = [];
  for (const wish of wishes.keys()) {
    const together = [...chosen, wish].map((index) => wishes[index]!);
    if (mostServed(supply, together) === together.length) chosen.push(wish);
  }
  return chosen;
}

test('concurrent gangs take several types and move together', async () => {
  const { store, database } = await openField();
  await seedIdle(database, ['a.large', 'a.large', 'b.large', 'b.large', 'c.large']);
  const gang = newRequest({ count: 3, types: ['a.*', 'b.*'] });
  const picky = newRequest({ types: ['b.*'] });
  const greedy = newRequest({ count: 2, types: ['b.*', 'c.*'] });
  await store.ask([gang, picky, greedy]);
  const grants = await store.claimIdle(10);
  assert.deepEqual(
    grants.map(({ request_id, runners }) => [request_id, runners.map(({ instance_type }) => instance_type).sort()]),
    [
      [gang.id, ['a.large', 'a.large', 'b.large']],
      [picky.id, ['b.large']],
    ],
  );
});

test('requests that cannot be served do not block later ones', async () => {
  const { store, database } = await openField();
  await seedIdle(database, ['b.large']);
  const request = newRequest({ types: ['b.*'] });
  await store.ask([...many(200, () => newRequest({ types: ['a.*'] })), request]);
  const [grant] = await store.claimIdle(1);
  assert.equal(grant?.request_id, request.id);
});

test('the backend returns why a request got nothing', async () => {
  const { store, database } = await openField();
  const backend = new PostgresBackend(store);
  await seedIdle(database, ['a.large']);
  const asked = [newRequest({ types: ['a.*'] }), newRequest({ types: ['b.*'] })];
  const stranger = { ...newRequest(), resource_class: 'xlarge' };
  await store.ask([...asked, stranger]);
  const waiting = await store.waiting(10);
  const served = await backend.serve(waiting.filter(({ id }) => id !== asked[0]!.id));
  assert.deepEqual(
    served.map(({ exhaustion }) => exhaustion),
    waiting.flatMap(({ id }) => (id === asked[0]!.id ? [] : [id === stranger.id ? 'global' : 'local'])),
  );
  const [first] = await backend.serve(waiting.filter(({ id }) => id === asked[0]!.id));
  assert.equal(first?.grant?.runners.length, 1);
  const again = await backend.serve(waiting);
  assert.deepEqual(
    again.map(({ request_id, exhaustion }) => [request_id === asked[0]!.id, exhaustion]),
    waiting.map(({ id }) => [id === asked[0]!.id, id === asked[0]!.id ? null : 'global']),
  );
  assert.deepEqual(backend.counts, { operations: 3, picked: 1, requeued: 0, discarded: 0 });
});

test('the ready row of a task follows its runner, and returns when the runner is lost', async () => {
  const { store, database } = await openField();
  const [first] = await seedIdle(database, ['a.large']);
  const [task, blocked] = [newId(), newId()];
  for (const id of [task, blocked]) await database.query(TASK, [id, 0]);
  await store.ask([newRequest({ source: 'task', run: task, attempt: 1 })]);
  const [grant] = await store.claimIdle(1);
  assert.equal(await laneOf(database, task), -grant!.runners[0]!.number);
  assert.equal(await laneOf(database, blocked), -1);
  await database.query(BLOCK, [task]);
  await store.terminate([first!], 'lost');
  assert.equal(await laneOf(database, task), -1);
  assert.equal((await store.waiting(10)).length, 1);
  await seedIdle(database, ['a.large', 'a.large']);
  const [second] = await store.claimIdle(1);
  assert.equal(await laneOf(database, task), -second!.runners[0]!.number);
  await store.release(second!.runners[0]!.id, second!.runners[0]!.epoch);
  assert.equal(await laneOf(database, task), -1);
});

test('the first of several runners executes the task: a started attempt continues until that one is lost', async () => {
  const { store, database } = await openField();
  await seedIdle(
    database,
    many(3, () => 'a.large'),
  );
  const task = newId();
  await database.query(TASK, [task, 0]);
  const request = newRequest({ source: 'task', run: task, attempt: 1, count: 3 });
  await store.ask([request]);
  const [grant] = await store.claimIdle(1);
  const [first, second, third] = grant!.runners;
  assert.equal(await laneOf(database, task), -first!.number);
  await database.query(BEGIN, [task]);
  await store.terminate([second!.id], 'lost');
  assert.equal((await store.request(request.id))?.state, 'granted');
  await store.terminate([first!.id], 'lost');
  const { state, reason, runners } = (await store.request(request.id))!;
  assert.deepEqual({ state, reason, runners }, { state: 'ended', reason: 'lost', runners: [] });
  const [freed] = await store.list({ ids: [third!.id] }, { offset: 0, limit: 1 });
  assert.equal(freed?.state, 'idle');
});

test('a task that needs the same attempt again gets a new rank', async () => {
  const { store, database } = await openField();
  const task = newId();
  await database.query(TASK, [task, 0]);
  const request = newRequest({ source: 'task', run: task, attempt: 1 });
  await store.ask([request]);
  await store.withdraw([request.id], 'paused');
  const other = newRequest({ tenant: 'another' });
  await store.ask([other]);
  await store.ask([request]);
  const waiting = await store.waiting(10);
  assert.deepEqual(
    waiting.map(({ id }) => id),
    [other.id, request.id],
  );
  await store.withdraw([request.id], 'over');
  await database.query(BEGIN, [task]);
  await store.ask([request]);
  assert.equal((await store.request(request.id))?.state, 'ended');
});

test('runners are notified of changed orders, and the pool of new requests', async () => {
  const { store, database } = await openField();
  const [runner] = await seedIdle(database, ['a.large']);
  const notices: string[] = [];
  const pool: string[] = [];
  await database.listen(RUNNER_CHANNEL, (payload) => notices.push(payload));
  await database.listen(POOL_CHANNEL, (payload) => pool.push(payload));
  const notified = (count: number, what: string) =>
    eventually(() => notices.filter((id) => id === runner).length >= count, what);
  const request = newRequest();
  await store.ask([request]);
  await eventually(() => pool.length > 0, 'the pool is notified of the request');
  const [grant] = await store.claimIdle(1);
  await notified(1, 'the runner is notified of its claim');
  await eventually(() => pool.includes(SETTLED), 'clients are notified of the grant');
  await store.confirm(runner!, grant!.runners[0]!.epoch);
  await store.drain([runner!], 'drained');
  await notified(2, 'the runner is notified of the drain');
  await store.release(runner!, null);
  await notified(3, 'the runner is notified of its end');
  const settled = () => pool.filter((payload) => payload === SETTLED).length;
  const before = settled();
  const other = newRequest();
  await store.ask([other]);
  await store.withdraw([other.id], 'over');
  await eventually(() => settled() > before, 'clients are notified of the end');
});

test('a task request whose run is not an ID is refused', async () => {
  const { store } = await openField();
  await assert.rejects(store.ask([newRequest({ source: 'task', run: 'a task' })]), /its run is not a task ID: a task/);
  assert.equal(await store.request('unknown'), null);
});
