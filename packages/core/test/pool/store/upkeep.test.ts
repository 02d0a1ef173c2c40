/** The sweep on PostgreSQL: concurrent servers never touch runners that are live or locked. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { PoolTimes, RunnerStore, SweepResult } from '../../../src/pool/port/store.ts';
import type { Database, Statement } from '../../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { providerIdOf, SECOND, TIMES, type Yard } from '../../support/pool/store/fixture.ts';
import { assertSound, emptyPool } from '../../support/pool/store/pool-books.ts';
import { postgresYard, type PostgresYard } from '../../support/pool/store/postgres-store.ts';

const PROCESSES = 4;
const LOCK_REQUEST: Statement = { name: 'test.lock', text: 'select 1 from runner_request where id = $1 for update' };
const LOCK_PULSE: Statement = {
  name: 'test.speak',
  text: 'select 1 from runner_heartbeat where runner_id = $1 for update',
};

let database: Database;
const others: Database[] = [];

before(async () => {
  const made = await createTestDatabase({ maxSize: 4 });
  database = made.database;
  for (let count = 1; count < PROCESSES; count += 1) others.push(openTestDatabase(made.url, { maxSize: 2 }));
});
after(() => Promise.all(others.map((each) => each.close())));

async function open(times: Partial<PoolTimes> = {}): Promise<PostgresYard & { stores: RunnerStore[] }> {
  await emptyPool(database);
  const opened = await postgresYard(database, { times: { ...TIMES, ...times } });
  return { ...opened, stores: [opened.store, ...others.map((other) => opened.another(other))] };
}

async function manyIdle(yard: Yard, count: number): Promise<string[]> {
  const batch = yard.newId();
  const ids = await yard.plan(count, { id: batch });
  await yard.store.launched(
    batch,
    ids.map((id) => yard.launchedAs(id)),
    null,
  );
  for (const id of ids) await yard.register(id);
  return ids;
}

function sumOf(swept: readonly SweepResult[]): SweepResult {
  const ended: Record<string, number> = {};
  for (const each of swept) {
    for (const [reason, count] of Object.entries(each.ended)) ended[reason] = (ended[reason] ?? 0) + count;
  }
  const sum = (key: 'requeued' | 'expired' | 'released'): number => swept.reduce((all, each) => all + each[key], 0);
  return { ended, requeued: sum('requeued'), expired: sum('expired'), released: sum('released') };
}

test('concurrent sweeps end each runner once, and its request waits once', async () => {
  const long = 7_200 * SECOND;
  const confirm = TIMES.created_ms + TIMES.recheck_ms;
  const { yard, store, stores } = await open({ idle_ms: long, claim_ms: long, confirm_ms: confirm });
  const ids = await manyIdle(yard, 24);
  const requests = Array.from({ length: 12 }, (_, index) => yard.newRequest({ count: index < 6 ? 1 : 3 }));
  await store.ask(requests);
  assert.equal((await store.claimIdle(100)).length, 12);
  const silent = await manyIdle(yard, 10);
  yard.pass(TIMES.heartbeat_timeout_ms + 1);
  await store.sweep(1_000, []);
  yard.pass(TIMES.recheck_ms);
  const planned = await yard.plan(8);
  yard.pass(TIMES.created_ms);
  const expiring = yard.newRequest({ usage_class: 'spot', expires_at: yard.now });
  await store.ask([expiring]);
  const swept = await Promise.all([...stores, ...stores].map((each) => each.sweep(1_000, [])));
  const last = await store.sweep(1_000, []);
  const all = sumOf([...swept, last]);
  assert.deepEqual(all.ended, { unconfirmed: ids.length, lost: silent.length, 'never launched': planned.length });
  assert.deepEqual([all.requeued, all.expired], [requests.length, 1]);
  const rows = await store.list({ ended: false }, { offset: 0, limit: 100 });
  assert.deepEqual(rows, []);
  assert.equal((await store.waiting(100)).length, 12);
  assert.equal((await store.list({ ids }, { offset: 0, limit: 100 })).length, ids.length);
  await assertSound(database);
});

test('unconfirmed claims are ended by servers that sweep a few at a time', async () => {
  const { yard, store, stores } = await open();
  const ids = await manyIdle(yard, 30);
  await store.ask(Array.from({ length: 12 }, (_, index) => yard.newRequest({ count: 1 + (index % 4) })));
  assert.equal((await store.claimIdle(100)).length, 12);
  yard.pass(TIMES.confirm_ms);
  const swept: SweepResult[] = [];
  for (let round = 0; round < 20; round += 1) {
    swept.push(...(await Promise.all(stores.map((each) => each.sweep(2, [])))));
  }
  const { ended } = sumOf(swept);
  const terminated = await store.list({ state: 'terminated' }, { offset: 0, limit: 100 });
  assert.deepEqual(ended, { unconfirmed: terminated.length });
  assert.ok(terminated.length > 0 && terminated.length <= ids.length);
  await assertSound(database);
});

test('concurrent sweeps keep the minimum of idle runners', async () => {
  const { yard, store, stores } = await open();
  const ids = await manyIdle(yard, 20);
  await yard.live(TIMES.idle_ms, ...ids.slice(0, 1));
  yard.pass(1);
  const keep = [{ resource_class: 'large', usage_class: 'on-demand', count: 6 }];
  for (const id of ids) await yard.beat(id);
  // Not a second check of any runner: all have just sent a heartbeat.
  const swept = await Promise.all([...stores, ...stores].map((each) => each.sweep(1_000, keep)));
  const rest = await store.sweep(1_000, keep);
  assert.deepEqual(sumOf([...swept, rest]).ended, { 'idle too long': 14 });
  assert.equal((await store.list({ state: 'idle' }, { offset: 0, limit: 100 })).length, 6);
  // Their messages have the old threshold.
  assert.equal((await store.unoffered(100, 0)).length, 6);
});

test('a locked request is skipped without waiting', async () => {
  const { yard, store, another } = await open();
  const [held, free] = [await yard.arrive(), await yard.arrive()];
  const requests = [await yard.ask(), await yard.ask()];
  await store.claimIdle(2);
  yard.pass(TIMES.confirm_ms);
  const { request_id } = await yard.runner(held);
  assert.ok(requests.includes(request_id!));
  const swept = await database.transaction(async (tx) => {
    await tx.query(LOCK_REQUEST, [request_id]);
    return another(others[0]!).sweep(100, []);
  });
  assert.deepEqual(swept.ended, { unconfirmed: 1 });
  assert.deepEqual([await yard.stateOf(held), await yard.stateOf(free)], ['claimed', 'terminated']);
  assert.deepEqual((await store.sweep(100, [])).ended, { unconfirmed: 1 });
  await assertSound(database);
});

test('a runner whose heartbeat is being recorded is not silent', async () => {
  const { yard, store, another } = await open();
  const id = await yard.arrive();
  yard.pass(TIMES.heartbeat_timeout_ms + 1);
  await store.sweep(100, []);
  yard.pass(TIMES.recheck_ms);
  const swept = await database.transaction(async (tx) => {
    await tx.query(LOCK_PULSE, [id]);
    return another(others[0]!).sweep(100, []);
  });
  assert.deepEqual(swept.ended, {});
  assert.deepEqual((await store.sweep(100, [])).ended, { lost: 1 });
});

test('a cleared suspicion does not count at a later silence', async () => {
  const { yard, store } = await open();
  const { id } = await yard.running();
  yard.pass(TIMES.heartbeat_timeout_ms + 1);
  await store.sweep(100, []);
  // Heartbeats continue for long while no server sweeps.
  await yard.live(2 * TIMES.recheck_ms, id);
  yard.pass(TIMES.heartbeat_timeout_ms + 1);
  assert.deepEqual((await store.sweep(100, [])).ended, {});
  yard.pass(TIMES.recheck_ms - 1);
  assert.deepEqual((await store.sweep(100, [])).ended, {});
  yard.pass(1);
  assert.deepEqual((await store.sweep(100, [])).ended, { lost: 1 });
});

test('a claim ends after its maximum time even if the agent has longer to confirm it', async () => {
  const { yard, store } = await open({ confirm_ms: 900 * SECOND });
  const id = await yard.arrive();
  const request = await yard.ask();
  await store.claimIdle(1);
  await yard.live(TIMES.claim_ms, id);
  const swept = await store.sweep(100, []);
  assert.deepEqual([swept.ended, swept.requeued], [{ unconfirmed: 1 }, 1]);
  assert.equal((await yard.request(request)).state, 'waiting');
});

test('a sample is recorded once per minute by the first server, and read back in order', async () => {
  const { yard, store, another, stores } = await open();
  await yard.running();
  await yard.arrive();
  await yard.ask({ usage_class: 'spot', count: 2 });
  const from = yard.now;
  const more = others.map((other) => another(other));
  await Promise.all([store, ...more].map((each) => each.sample()));
  await yard.arrive();
  await store.sample();
  yard.pass(60 * SECOND);
  await more[0]!.sample();
  const samples = await store.samples(from - 60 * SECOND, 100);
  const minutes = [...new Set(samples.map(({ at }) => at))];
  assert.deepEqual(
    minutes.map((at) => at % (60 * SECOND)),
    [0, 0],
  );
  assert.deepEqual(
    samples
      .filter(({ at }) => at === minutes[0])
      .map(({ usage_class, idle, running, waiting }) => [usage_class, idle, running, waiting]),
    [
      ['on-demand', 1, 1, 0],
      ['spot', 0, 0, 2],
    ],
  );
  assert.equal(samples.find(({ at, usage_class }) => at === minutes[1] && usage_class === 'on-demand')?.idle, 2);
  assert.deepEqual(await store.samples(yard.now + 60 * SECOND, 100), []);
  assert.equal((await store.samples(0, 1)).length, 1);
  await Promise.all(stores.map((each) => each.forget(yard.now + SECOND, 1_000)));
  assert.deepEqual(await store.samples(0, 100), []);
});

test('concurrent servers delete old rows page by page, with their heartbeats', async () => {
  const { yard, store, stores } = await open();
  const ids = await manyIdle(yard, 20);
  await store.terminate(ids, 'terminated by a user');
  const kept = await yard.arrive();
  yard.pass(SECOND);
  let removed = 0;
  for (let round = 0; round < 10; round += 1) {
    const counts = await Promise.all(stores.map((each) => each.forget(yard.now, 3)));
    removed += counts.reduce((sum, count) => sum + count, 0);
  }
  // Their batch is deleted with them.
  assert.equal(removed, ids.length + 1);
  const [heartbeats] = await database.query<{ n: number }>({
    name: 'test.heartbeats',
    text: 'select count(*) as n from runner_heartbeat',
  });
  assert.equal(heartbeats?.n, 1);
  assert.equal(await yard.stateOf(kept), 'idle');
  // An instance that still exists is now an orphan and found as such.
  const instance = yard.instance(ids[0]!);
  await store.reconcile('yard', [instance, yard.instance(kept)]);
  yard.pass(TIMES.recheck_ms);
  await yard.beat(kept);
  assert.deepEqual((await store.reconcile('yard', [instance, yard.instance(kept)])).orphans, [providerIdOf(ids[0]!)]);
});

test('concurrent servers count each end once', async () => {
  const { yard, store, stores } = await open();
  await store.terminate(await manyIdle(yard, 40), 'terminated by a user');
  let counted = 0;
  for (let round = 0; round < 40 && counted < 40; round += 1) {
    for (const ended of await Promise.all(stores.map((each) => each.countEnded(3))))
      counted += ended['terminated by a user'] ?? 0;
  }
  assert.equal(counted, 40);
  for (const each of stores) assert.deepEqual(await each.countEnded(100), {});
});
