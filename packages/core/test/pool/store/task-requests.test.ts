/** Requests of tasks end with their attempt, which frees their runners. */
import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';

import type { Engine } from '../../../src/engine/port.ts';
import { derivedId } from '@heddle/base/derived-id';
import type { PostgresRunnerStore } from '../../../src/pool/store/postgres.ts';
import type { Database, Statement } from '../../../src/store/database.ts';
import { newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { requirementsOf, type Yard } from '../../support/pool/store/fixture.ts';
import { assertSound, emptyPool } from '../../support/pool/store/pool-books.ts';
import { postgresYard } from '../../support/pool/store/postgres-store.ts';
import { many, newRequest } from '../../support/pool/store/seed.ts';

const REMOVE: Statement = { name: 'test.remove_task', text: 'delete from task where id = $1' };
const BLOCK: Statement = {
  name: 'test.block',
  text: `with gone as (delete from ready where task_id = $1 returning lane, rank)
    insert into blocked (slot_id, rank, task_id, lane, max, sole) select 42, g.rank, $1::uuid, g.lane, 1, false from gone g`,
};
const WATCH_SLOT: Statement = {
  name: 'test.watch_slot',
  text: `update task set rule_slots = '{42}', rule_max = '{1}' where id = $1`,
};
const LANE: Statement = { name: 'test.lane', text: 'select lane from ready where task_id = $1' };

let engine: Engine;
let database: Database;
let yard: Yard;
let store: PostgresRunnerStore;

before(async () => {
  ({ engine, database } = await newBench());
});
beforeEach(async () => {
  await emptyPool(database);
  ({ yard, store } = await postgresYard(database));
});

interface Asked {
  readonly task: string;
  readonly request: string;
}

/** A task with a runner request. */
async function ask(count = 1): Promise<Asked> {
  const task = newTask({ requirements: { ...requirementsOf(), count } });
  await submitTasks(engine, [task]);
  return { task: task.id, request: await askFor(task.id, count) };
}

async function askFor(task: string, count = 1, attempt = 1): Promise<string> {
  const id = derivedId(task, { ordinal: attempt });
  const fields = { ...requirementsOf(), count, tenant: 'acme', source: 'task' as const, run: task, attempt };
  await store.ask([{ ...fields, id, expires_at: null }]);
  return id;
}

/** The task is in the lane of its first runner, which has not started it yet. */
async function grant(count = 1): Promise<Asked & { runners: string[]; lane: string }> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push(await yard.arrive());
  const asked = await ask(count);
  const [given] = await store.claimIdle(10);
  assert.deepEqual(given?.runners.map(({ id }) => id).sort(), ids);
  return { ...asked, runners: ids, lane: `runner:${given.runners[0]!.number}` };
}

async function begin(granted: { lane: string }): Promise<{ id: string; attempt: number }> {
  const [claimed] = await engine.claim({ lanes: [granted.lane], limit: 1, holder: 'agent' });
  await engine.heartbeat([{ task_id: claimed!.id, attempt: claimed!.attempt, new_success: 0, new_failures: 0 }]);
  return claimed!;
}

async function sweep(): Promise<number> {
  const { ended, requeued, released } = await store.sweep(100, []);
  assert.deepEqual([ended, requeued], [{}, 0]);
  await assertSound(database);
  return released;
}

async function statesOf(ids: readonly string[]): Promise<string[]> {
  return Promise.all(ids.map((id) => yard.stateOf(id)));
}

async function laneOf(task: string): Promise<number | undefined> {
  return (await database.query<{ lane: number }>(LANE, [task]))[0]?.lane;
}

test('requests of waiting, starting and running tasks stay', async () => {
  const granted = await grant(2);
  const waiting = await ask(5);
  assert.equal(await sweep(), 0);
  await begin(granted);
  assert.equal(await sweep(), 0);
  await engine.pause([granted.task]);
  assert.equal(await sweep(), 0);
  assert.deepEqual(await statesOf(granted.runners), ['claimed', 'claimed']);
  assert.equal((await yard.request(waiting.request)).state, 'waiting');
});

test('the request of a task that waits for a slot stays, before and after it has a runner', async () => {
  const granted = await grant();
  const waiting = await ask();
  for (const { task } of [granted, waiting]) {
    await database.query(WATCH_SLOT, [task]);
    await database.query(BLOCK, [task]);
  }
  assert.equal(await sweep(), 0);
  assert.equal((await yard.request(granted.request)).state, 'granted');
  assert.equal((await yard.request(waiting.request)).state, 'waiting');
});

test('when an attempt has ended, its runners are free', async () => {
  const granted = await grant(3);
  const { id, attempt } = await begin(granted);
  await engine.report([{ task_id: id, attempt, outcome: 'succeeded' }]);
  assert.equal(await sweep(), 3);
  assert.deepEqual(await statesOf(granted.runners), ['idle', 'idle', 'idle']);
  const { state, reason } = await yard.request(granted.request);
  assert.deepEqual([state, reason], ['ended', null]);
  assert.equal(await sweep(), 0);
});

test('when an attempt failed and is retried, its runners are free for the next request', async () => {
  const granted = await grant();
  const { id, attempt } = await begin(granted);
  await engine.release([{ task_id: id, attempt }]);
  assert.equal(await laneOf(id), -1);
  const next = await askFor(id, 1, attempt + 1);
  assert.equal(await sweep(), 1);
  assert.equal((await yard.request(granted.request)).state, 'ended');
  // The runner was granted to the next attempt at once.
  assert.deepEqual(await yard.holdersOf(next), granted.runners);
  assert.equal(await sweep(), 0);
});

test('a canceled attempt keeps its runner until its worker has released it', async () => {
  const granted = await grant();
  const { id, attempt } = await begin(granted);
  await engine.cancel([id], 'not wanted');
  assert.equal(await sweep(), 0);
  await engine.report([{ task_id: id, attempt, outcome: 'succeeded' }]);
  assert.equal(await sweep(), 1);
  assert.deepEqual(await statesOf(granted.runners), ['idle']);
});

test('a task canceled before its start needs no runner', async () => {
  const granted = await grant(2);
  const waiting = await ask();
  await engine.cancel([granted.task, waiting.task], 'not wanted');
  assert.equal(await sweep(), 2);
  assert.deepEqual(await statesOf(granted.runners), ['idle', 'idle']);
  for (const { request } of [granted, waiting]) assert.equal((await yard.request(request)).state, 'ended');
  assert.match((await yard.request(waiting.request)).reason ?? '', /no longer waits/);
});

test('a task paused before its start returns its runner, and gets one when it is resumed', async () => {
  const granted = await grant();
  const waiting = await ask();
  await engine.pause([granted.task, waiting.task]);
  assert.equal(await sweep(), 1);
  assert.deepEqual(await statesOf(granted.runners), ['idle']);
  await engine.resume([granted.task, waiting.task]);
  assert.deepEqual([await laneOf(granted.task), await laneOf(waiting.task)], [-1, -1]);
  assert.equal(await askFor(granted.task), granted.request);
  assert.equal(await askFor(waiting.task), waiting.request);
  assert.equal((await store.claimIdle(10)).length, 1);
  const states = [await yard.request(granted.request), await yard.request(waiting.request)].map(({ state }) => state);
  assert.deepEqual(states.sort(), ['granted', 'waiting']);
  assert.equal(await sweep(), 0);
});

test('a canceled task needs no runner, even behind many requests that cannot be served', async () => {
  await store.ask(many(120, () => newRequest({ types: ['unknown.type'] })));
  const waiting = await ask();
  await engine.cancel([waiting.task], 'not wanted');
  await sweep();
  assert.equal((await yard.request(waiting.request)).state, 'ended');
});

test('a deleted task needs no runner', async () => {
  const granted = await grant();
  const waiting = await ask();
  for (const { task } of [granted, waiting]) await database.query(REMOVE, [task]);
  assert.equal(await sweep(), 1);
  assert.deepEqual(await statesOf(granted.runners), ['idle']);
  assert.equal((await yard.request(waiting.request)).state, 'ended');
});

test('a runner lost before its task started returns the request to its position; the task is not dropped', async () => {
  const granted = await grant();
  await store.terminate(granted.runners, 'terminated by a user');
  assert.equal(await laneOf(granted.task), -1);
  assert.equal(await sweep(), 0);
  assert.equal((await yard.request(granted.request)).state, 'waiting');
  const next = await yard.arrive();
  assert.deepEqual(await yard.holdersOf(granted.request), [next]);
  assert.equal(await sweep(), 0);
});
