/** Launches on PostgreSQL by several processes: each batch is leased by one, and the budget is shared. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import fc from 'fast-check';

import type { LaunchBatch } from '../../../src/pool/port/provider.ts';
import type { LaunchRate, RunnerStore } from '../../../src/pool/port/store.ts';
import type { Database, Statement } from '../../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { PROVIDER, providerIdOf, requirementsOf, SECOND, TIMES, type Yard } from '../../support/pool/store/fixture.ts';
import { postgresYard, type PostgresYard } from '../../support/pool/store/postgres-store.ts';

const PLENTY: LaunchRate = { per_second: 1_000, burst: 1_000 };
const LEASE_MS = 30 * SECOND;
const PROCESSES = 4;

const EMPTY: Statement = {
  name: 'test.empty_pool',
  text: `truncate runner, runner_batch, runner_budget, runner_request, runner_heartbeat, runner_tenant, runner_sample`,
};

let url: string;
let database: Database;
const others: Database[] = [];

before(async () => {
  ({ url, database } = await createTestDatabase({ maxSize: 4 }));
  for (let count = 1; count < PROCESSES; count += 1) others.push(openTestDatabase(url, { maxSize: 2 }));
});
after(() => Promise.all(others.map((each) => each.close())));

/** An empty pool with one store per process. */
async function open(): Promise<PostgresYard & { stores: RunnerStore[] }> {
  await database.query(EMPTY);
  const opened = await postgresYard(database);
  return { ...opened, stores: [opened.store, ...others.map((other) => opened.another(other))] };
}

function take(store: RunnerStore, rate = PLENTY, limit = 100): Promise<LaunchBatch[]> {
  return store.takeBatches(PROVIDER, limit, LEASE_MS, rate);
}

function runnersOf(batches: readonly LaunchBatch[]): number {
  return batches.reduce((sum, { runner_ids }) => sum + runner_ids.length, 0);
}

test('a batch is leased by one of many concurrent processes', async () => {
  const { yard, stores } = await open();
  const planned = new Set<string>();
  for (let count = 0; count < 30; count += 1) {
    const id = yard.newId();
    await yard.plan(2, { id });
    planned.add(id);
  }
  const rounds = stores.flatMap((store) => Array.from({ length: 4 }, () => take(store, PLENTY, 5)));
  const taken = (await Promise.all(rounds)).flat();
  const rest = await take(yard.store);
  const ids = [...taken, ...rest].map(({ id }) => id);
  assert.equal(ids.length, planned.size);
  assert.deepEqual(new Set(ids), planned);
});

test('processes together stay within the budget', async () => {
  const { yard, stores } = await open();
  for (let count = 0; count < 40; count += 1) await yard.plan(1);
  const rate: LaunchRate = { per_second: 2, burst: 7 };
  const round = async (): Promise<number> =>
    runnersOf((await Promise.all(stores.map((store) => take(store, rate)))).flat());
  assert.equal(await round(), 7);
  assert.equal(await round(), 0);
  yard.pass(2 * SECOND);
  assert.equal(await round(), 4);
});

test('the budget holds over any period, whatever is planned and leased', async () => {
  const step = fc.oneof(
    fc.record({ plan: fc.integer({ min: 1, max: 6 }) }),
    fc.record({ pass: fc.integer({ min: 0, max: 4_000 }) }),
    fc.record({ take: fc.integer({ min: 1, max: 4 }), by: fc.integer({ min: 1, max: PROCESSES }) }),
  );
  const rates = fc.record({ per_second: fc.constantFrom(0.5, 1, 3), burst: fc.integer({ min: 6, max: 12 }) });
  await fc.assert(
    fc.asyncProperty(rates, fc.array(step, { minLength: 1, maxLength: 20 }), async (rate, steps) => {
      const { yard, stores } = await open();
      const launches: { at: number; runners: number }[] = [];
      for (const each of steps) {
        if ('plan' in each) await yard.plan(each.plan);
        else if ('pass' in each) yard.pass(each.pass);
        else {
          const takers = stores.slice(0, each.by).map((store) => take(store, rate, each.take));
          launches.push({ at: yard.now, runners: runnersOf((await Promise.all(takers)).flat()) });
        }
      }
      for (const [index, { at }] of launches.entries()) {
        let sum = 0;
        for (const later of launches.slice(index)) {
          sum += later.runners;
          const allowed = rate.burst + (rate.per_second * (later.at - at)) / SECOND;
          assert.ok(sum <= allowed + 1e-6, `${sum} runners where ${allowed} were allowed`);
        }
      }
    }),
    { numRuns: 25 },
  );
});

test('after a process dies between lease and result, the next one repeats the same call', async () => {
  const { yard, stores } = await open();
  const id = yard.newId();
  const [first, second, third] = await yard.plan(3, { id });
  // It is not part of a call yet.
  await yard.store.drain([first!], 'drained');
  const [call] = await take(stores[0]!);
  assert.deepEqual(call?.runner_ids, [second, third]);
  // It stays part of a call that may have been made; otherwise the provider would refuse the repetition.
  await yard.store.terminate([third!], 'terminated by a user');
  yard.pass(LEASE_MS - 1);
  assert.deepEqual(await take(stores[1]!), []);
  yard.pass(1);
  assert.deepEqual(await take(stores[1]!), [{ ...call, tries: 1 }]);
  await stores[1]!.launched(
    id,
    [second, third].map((runner) => yard.launchedAs(runner!)),
    null,
  );
  // The process that seemed dead reports the same later.
  await stores[0]!.launched(
    id,
    [second, third].map((runner) => yard.launchedAs(runner!)),
    null,
  );
  assert.equal(await yard.stateOf(second!), 'created');
  assert.deepEqual(await yard.store.leaving(PROVIDER, 10), [{ id: third, provider_id: providerIdOf(third!) }]);
  yard.pass(LEASE_MS);
  assert.deepEqual(await take(stores[1]!), []);
});

test('a late failure does not undo the success of another process', async () => {
  const { yard, stores } = await open();
  const id = yard.newId();
  const [runner] = await yard.plan(1, { id });
  await take(stores[0]!);
  yard.pass(LEASE_MS);
  await take(stores[1]!);
  await stores[1]!.launched(id, [yard.launchedAs(runner!)], null);
  await stores[0]!.launchFailed(id, 'too slow', null);
  await stores[0]!.launchFailed(id, 'too slow', yard.now);
  assert.equal(await yard.stateOf(runner!), 'created');
  assert.deepEqual(await take(stores[0]!), []);
});

test('planners that see the same shortage cover it once', async () => {
  const { yard, stores } = await open();
  await yard.ask({ count: 3 });
  const batch = (): Parameters<RunnerStore['plan']>[0][number] => ({
    ...{ id: yard.newId(), provider: PROVIDER, requirements: requirementsOf(), cpu: 2, memory_mib: 4_096, coming: 0 },
    runner_ids: [yard.newId(), yard.newId(), yard.newId()],
  });
  await Promise.all(stores.map((store) => store.plan([batch()])));
  const [shortage] = await yard.store.shortages();
  assert.deepEqual([shortage?.wanted, shortage?.coming], [3, 3]);
  // Both batches of a plan use the count before the plan.
  await yard.store.plan([
    { ...batch(), coming: 3 },
    { ...batch(), coming: 3 },
  ]);
  assert.equal((await yard.store.shortages())[0]?.coming, 9);
});

test('concurrent planners stay within the limit of runners', async () => {
  const { yard, stores } = await open();
  const plan = async (store: RunnerStore): Promise<void> => {
    const runnerIds = Array.from({ length: 7 }, () => yard.newId());
    const batch = { id: yard.newId(), provider: PROVIDER, requirements: requirementsOf(), cpu: 2, memory_mib: 4_096 };
    await store.plan([{ ...batch, runner_ids: runnerIds }], 20);
  };
  await Promise.all([...stores, ...stores].map(plan));
  const live = await yard.store.list({ ended: false }, { offset: 0, limit: 100 });
  assert.equal(live.length, 20);
  await yard.store.terminate(
    live.slice(0, 3).map(({ id }) => id),
    'terminated by a user',
  );
  await plan(yard.store);
  assert.equal((await yard.store.list({ ended: false }, { offset: 0, limit: 100 })).length, 20);
});

test('an agent that registers before the answer keeps its runner, and becomes available with the answer', async () => {
  const { yard } = await open();
  const id = yard.newId();
  const [one, other] = await yard.plan(2, { id });
  const early = await yard.store.register({ ...{ runner_id: null, batch_id: id }, provider_id: 'i-b', address: null });
  assert.equal(early?.state, 'created');
  const spare = early.runner_id === one ? other! : one!;
  // The provider lists them in reverse order.
  const answer = [
    { ...yard.launchedAs(early.runner_id), provider_id: 'i-a' },
    { ...yard.launchedAs(spare), provider_id: 'i-b' },
  ];
  await yard.store.launched(id, answer, null);
  const registered = await yard.runner(early.runner_id);
  assert.deepEqual([registered.state, registered.provider_id], ['idle', 'i-b']);
  const quiet = await yard.runner(spare);
  assert.deepEqual([quiet.state, quiet.provider_id], ['created', 'i-a']);
});

test('surplus or duplicate instances in an answer are handled', async () => {
  const { yard } = await open();
  const id = yard.newId();
  const [runner] = await yard.plan(1, { id });
  const launched = yard.launchedAs(runner!);
  await yard.store.launched(id, [launched, launched, { ...launched, provider_id: 'i-more' }], null);
  assert.equal((await yard.runner(runner!)).provider_id, providerIdOf(runner!));
});

test('waiting requests show why the last launch failed, until one succeeds', async () => {
  const { yard } = await open();
  const request = await yard.ask();
  const failing = yard.newId();
  await yard.plan(1, { id: failing });
  await yard.store.launchFailed(failing, 'x'.repeat(5_000), yard.now + SECOND);
  assert.equal((await yard.request(request)).reason, 'x'.repeat(2_000));
  const [runner] = await yard.plan(1, { id: yard.newId() });
  const batches = await take(yard.store);
  await yard.store.launched(
    batches.find(({ runner_ids }) => runner_ids.includes(runner!))!.id,
    [yard.launchedAs(runner!)],
    null,
  );
  assert.equal((await yard.request(request)).reason, null);
});

test('a shortage includes fitting idle runners, up to the number wanted and claimable', async () => {
  const { yard } = await open();
  await yard.ask({ count: 5 });
  const [fresh, silent] = [await yard.arrive(), await yard.arrive()];
  yard.pass(TIMES.heartbeat_max_age_ms);
  await yard.beat(fresh);
  await yard.arrive({ resource_class: 'xlarge' });
  const idle = async (): Promise<number | undefined> => (await yard.store.shortages())[0]?.idle;
  assert.equal(await idle(), 1);
  await yard.beat(silent);
  assert.equal(await idle(), 2);
});

test('an idle runner is offered by one of several concurrent processes', async () => {
  const { yard, stores } = await open();
  const ids = await manyIdle(yard, 12);
  const offered = await Promise.all(stores.flatMap((store) => [store.unoffered(4, 0), store.unoffered(4, 0)]));
  const rest = await yard.store.unoffered(100, 0);
  const offeredIds = [...offered.flat(), ...rest].map(({ id }) => id);
  assert.deepEqual(offeredIds.sort(), ids.sort());
});

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
