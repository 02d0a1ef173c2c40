/** Reconciliation on PostgreSQL: lost answers, stale or wrong listings, and concurrent listings of several servers. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { ProviderInstance } from '../../../src/pool/port/provider.ts';
import type { RunnerStore } from '../../../src/pool/port/store.ts';
import type { Database } from '../../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { PROVIDER, providerIdOf, SECOND, TIMES, type Yard } from '../../support/pool/store/fixture.ts';
import { assertSound, emptyPool } from '../../support/pool/store/pool-books.ts';
import { postgresYard, type PostgresYard } from '../../support/pool/store/postgres-store.ts';

const NOTHING = { orphans: [], vanished: 0 };
const PLENTY = { per_second: 1_000, burst: 1_000 };

let database: Database;
const others: Database[] = [];

before(async () => {
  const made = await createTestDatabase({ maxSize: 4 });
  database = made.database;
  for (let count = 1; count < 4; count += 1) others.push(openTestDatabase(made.url, { maxSize: 2 }));
});
after(() => Promise.all(others.map((each) => each.close())));

async function open(): Promise<PostgresYard & { stores: RunnerStore[] }> {
  await emptyPool(database);
  const opened = await postgresYard(database);
  return { ...opened, stores: [opened.store, ...others.map((other) => opened.another(other))] };
}

function stranger(yard: Yard, overrides: Partial<ProviderInstance> = {}): ProviderInstance {
  return yard.instance(yard.newId(), { runner_id: null, ...overrides });
}

test('an instance whose answer was lost is assigned to the runner in its tags, or to one of its batch', async () => {
  const { yard, store } = await open();
  const batch = yard.newId();
  const [one, two, three] = await yard.plan(3, { id: batch });
  await store.takeBatches(PROVIDER, 10, SECOND, PLENTY);
  await store.terminate([three!], 'terminated by a user');
  const listed = [
    yard.instance(two!, { batch_id: batch, provider_id: 'i-two' }),
    stranger(yard, { batch_id: batch, provider_id: 'i-x' }),
    stranger(yard, { batch_id: batch, provider_id: 'i-y' }),
  ];
  assert.deepEqual(await store.reconcile(PROVIDER, listed), NOTHING);
  const idOf = async (id: string): Promise<string | null> => (await yard.runner(id)).provider_id;
  // Live runners come first; an ended one gets its instance so that it is terminated.
  assert.deepEqual([await idOf(one!), await idOf(two!), await idOf(three!)], ['i-x', 'i-two', 'i-y']);
  assert.deepEqual(await store.leaving(PROVIDER, 10), [{ id: three, provider_id: 'i-y' }]);
  // The retry of the call does not change the assignment.
  const answer = [one!, two!, three!].map((id) => yard.launchedAs(id));
  const ids = ['i-two', 'i-x', 'i-y'];
  await store.launched(
    batch,
    answer.map((each, index) => ({ ...each, provider_id: ids[index]! })),
    null,
  );
  assert.deepEqual([await idOf(one!), await idOf(two!), await idOf(three!)], ['i-x', 'i-two', 'i-y']);
  const runner = await yard.runner(one!);
  assert.deepEqual([runner.instance_type, runner.threshold], ['a.large', yard.now + TIMES.register_ms]);
});

test('tags of unknown runners, or of runners that have an instance, are ignored', async () => {
  const { yard, store } = await open();
  const [known, foreign] = [await yard.arrive(), await yard.launch()];
  const listed = [
    yard.instance(known),
    yard.instance(foreign),
    yard.instance(known, { provider_id: 'i-twin' }),
    stranger(yard, { provider_id: 'i-unknown', runner_id: yard.newId() }),
    stranger(yard, { provider_id: 'i-batch', batch_id: yard.newId() }),
    stranger(yard, { provider_id: 'i-text', runner_id: "'; drop table runner --", batch_id: '' }),
    stranger(yard, { provider_id: 'i-leaving', state: 'stopping' }),
  ];
  assert.deepEqual(await store.reconcile(PROVIDER, listed), NOTHING);
  await yard.live(TIMES.recheck_ms, known);
  const { orphans, vanished } = await store.reconcile(PROVIDER, listed);
  assert.deepEqual(orphans.toSorted(), ['i-batch', 'i-text', 'i-twin', 'i-unknown']);
  assert.equal(vanished, 0);
});

test('an instance without tags gets as long as a launch may take while one is being retried', async () => {
  const { yard, store } = await open();
  const id = yard.newId();
  await yard.plan(1, { id });
  await store.takeBatches(PROVIDER, 10, SECOND, PLENTY);
  const untagged = stranger(yard);
  await store.reconcile(PROVIDER, [untagged]);
  yard.pass(TIMES.created_ms - 1);
  assert.deepEqual(await store.reconcile(PROVIDER, [untagged]), NOTHING);
  yard.pass(1);
  assert.deepEqual((await store.reconcile(PROVIDER, [untagged])).orphans, [untagged.provider_id]);
});

test('a runner that was marked gone and is listed again is terminated again', async () => {
  const { yard, store } = await open();
  const id = await yard.arrive();
  await store.terminate([id], 'terminated by a user');
  const leaving = async (): Promise<number> => (await store.leaving(PROVIDER, 10)).length;
  // A listing without it is ignored at first.
  await store.reconcile(PROVIDER, []);
  assert.equal(await leaving(), 1);
  yard.pass(TIMES.recheck_ms);
  await store.reconcile(PROVIDER, []);
  assert.equal(await leaving(), 0);
  await store.reconcile(PROVIDER, [yard.instance(id)]);
  assert.equal(await leaving(), 1);
  await store.reconcile(PROVIDER, [yard.instance(id, { state: 'gone' })]);
  assert.equal(await leaving(), 0);
});

test('no runner with heartbeats is ended, whatever its state and however often it is missing', async () => {
  const { yard, store } = await open();
  const { id: busy } = await yard.running();
  const idle = await yard.arrive();
  for (let round = 0; round < 4; round += 1) {
    assert.deepEqual(await store.reconcile(PROVIDER, []), NOTHING);
    await yard.live(TIMES.recheck_ms, busy, idle);
  }
  // It was missing once while silent; after a heartbeat, the next time counts as the first check.
  yard.pass(TIMES.heartbeat_max_age_ms + 1);
  assert.deepEqual(await store.reconcile(PROVIDER, []), NOTHING);
  await yard.beat(busy, idle);
  yard.pass(TIMES.recheck_ms);
  assert.deepEqual(await store.reconcile(PROVIDER, []), NOTHING);
  yard.pass(TIMES.recheck_ms);
  assert.deepEqual(await store.reconcile(PROVIDER, []), { orphans: [], vanished: 2 });
  await assertSound(database);
});

test('a hold with a vanished runner waits and keeps the others', async () => {
  const { yard, store } = await open();
  const ids = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
  const request = await yard.ask({ count: 3 });
  const [grant] = await store.claimIdle(1);
  for (const { id, epoch } of grant!.runners) await store.confirm(id, epoch);
  const [lost, ...rest] = ids;
  await yard.live(TIMES.heartbeat_max_age_ms + 5 * SECOND, ...rest);
  const listed = rest.map((id) => yard.instance(id));
  await store.reconcile(PROVIDER, listed);
  await yard.live(TIMES.recheck_ms, ...rest);
  assert.equal((await store.reconcile(PROVIDER, listed)).vanished, 1);
  assert.deepEqual([await yard.stateOf(lost!), await yard.stateOf(rest[0]!)], ['terminated', 'running']);
  const { state, kept } = await yard.request(request);
  assert.deepEqual([state, kept], ['waiting', 2]);
  await assertSound(database);
});

test('concurrent listings of several servers find the same, each runner once', async () => {
  const { yard, store, stores } = await open();
  const batch = yard.newId();
  const ids = await yard.plan(20, { id: batch });
  await store.launched(
    batch,
    ids.map((id) => yard.launchedAs(id)),
    null,
  );
  const listed = [
    ...ids.slice(0, 5).map((id) => yard.instance(id)),
    ...Array.from({ length: 5 }, () => stranger(yard, { batch_id: yard.newId() })),
  ];
  const round = (): Promise<{ orphans: string[]; vanished: number }[]> =>
    Promise.all([...stores, ...stores].map((each) => each.reconcile(PROVIDER, listed)));
  assert.deepEqual(
    (await round()).filter(({ orphans, vanished }) => orphans.length + vanished > 0),
    [],
  );
  yard.pass(TIMES.recheck_ms);
  const found = await round();
  assert.equal(
    found.reduce((sum, { vanished }) => sum + vanished, 0),
    15,
  );
  // At least one of them completed, and all that completed agree.
  const named = found.filter(({ orphans }) => orphans.length > 0);
  assert.ok(named.length > 0);
  for (const { orphans } of named) assert.equal(orphans.length, 5);
  assert.equal((await store.list({ state: 'created' }, { offset: 0, limit: 100 })).length, 5);
});

test('a listing of thousands is reconciled at once', async () => {
  const { yard, store } = await open();
  const known: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const batch = yard.newId();
    const ids = await yard.plan(1_000, { id: batch });
    await store.launched(
      batch,
      ids.map((id) => yard.launchedAs(id)),
      null,
    );
    known.push(...ids);
  }
  const unknown = Array.from({ length: 5_000 }, (_, index) => stranger(yard, { provider_id: `i-unknown-${index}` }));
  const listed = [...known.slice(0, 4_000).map((id) => yard.instance(id)), ...unknown];
  assert.deepEqual(await store.reconcile(PROVIDER, listed), NOTHING);
  yard.pass(TIMES.recheck_ms);
  const { orphans, vanished } = await store.reconcile(PROVIDER, listed);
  assert.deepEqual([orphans.length, vanished], [5_000, 1_000]);
  assert.equal((await store.leaving(PROVIDER, 10)).length, 0);
  assert.equal(
    providerIdOf(known[0]!),
    (await store.list({ ids: [known[0]!] }, { offset: 0, limit: 1 }))[0]?.provider_id,
  );
});
