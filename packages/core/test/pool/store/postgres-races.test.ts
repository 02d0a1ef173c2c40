/** Several processes on one database, with concurrent operations on the same runners and requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Grant } from '../../../src/pool/port/store.ts';
import type { Database, Statement } from '../../../src/store/database.ts';
import { FitCache } from '../../../src/store/runners/fits.ts';
import { eventually } from '@heddle/test-support/eventually';
import { CLASSES, requirementsOf } from '../../support/pool/store/fixture.ts';
import { many, newRequest, openField, seedIdle, type Field } from '../../support/pool/store/seed.ts';

/** Holders may release the runners of a request one by one. */
const BROKEN: Statement = {
  name: 'test.broken',
  text: `select q.id, q.state, q.count, h.runners
    from runner_request q, lateral (select count(*) as runners from runner r where r.request_id = q.id) h
    where case when q.state = 1 then h.runners not between 1 and q.count else h.runners > 0 end`,
};

const LIVE: Statement = { name: 'test.live', text: `select id from runner where state < 4 order by id` };
const IDLE: Statement = { name: 'test.idle', text: `select count(*) as n from runner where state = 1` };
const WAITING_SESSIONS: Statement = {
  name: 'test.waiting_sessions',
  text: `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
};
const DEADLOCKS: Statement = {
  name: 'test.deadlocks',
  text: `select deadlocks as n, (select count(*) from pg_stat_activity a
      where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend') as others
    from pg_stat_database where datname = current_database()`,
};

/** Records every claim of every runner: no runner is granted twice, in whatever order the answers arrive. */
class Claims {
  /** By runner and epoch, the request. */
  readonly #holders = new Map<string, string>();

  note(grants: readonly Grant[]): readonly Grant[] {
    for (const { request_id, runners } of grants) {
      for (const { id, epoch } of runners) {
        const holder = this.#holders.get(`${id} ${epoch}`) ?? request_id;
        assert.equal(holder, request_id, `the runner ${id} was given twice in epoch ${epoch}`);
        this.#holders.set(`${id} ${epoch}`, request_id);
      }
    }
    return grants;
  }

  /** All or none of the requested runners. */
  noteWhole(grants: readonly Grant[], counts: ReadonlyMap<string, number>): void {
    for (const { request_id, runners } of this.note(grants)) {
      assert.equal(new Set(runners.map(({ id }) => id)).size, counts.get(request_id));
    }
  }
}

async function countIdle(database: Database): Promise<number> {
  return (await database.query<{ n: number }>(IDLE))[0]!.n;
}

test('concurrent sets of several processes: no existing runner is reported missing', async () => {
  const { parties, store, database } = await openField(4);
  await seedIdle(
    database,
    many(600, (index) => `${'ab'[index % 2]!}.large`),
  );
  for (let round = 0; round < 3; round += 1) {
    const sets = many(16, () => many(10, (index) => newRequest({ types: [`${'ab'[index % 2]!}.*`] })));
    for (const set of sets) await store.ask(set);
    const answers = await Promise.all(
      sets.map((set, index) => parties[index % 4]!.store.serveIdle(set.map(({ id }) => id))),
    );
    const refused = answers.flat().filter(({ grant }) => grant === null);
    assert.deepEqual(
      refused.filter(({ exhaustion }) => exhaustion !== 'uncertain'),
      [],
    );
    for (const { request_id } of refused) await store.serveIdle([request_id]);
  }
  assert.equal((await store.waiting(100)).length, 0);
});

test('many concurrent claims of several processes: each runner is granted once, and all are granted', async () => {
  const { parties, store, database } = await openField(4);
  await seedIdle(
    database,
    many(60, (index) => `${'abc'[index % 3]!}.large`),
  );
  const requests = many(80, (index) => newRequest(index % 2 === 0 ? {} : { types: [`${'abc'[index % 3]!}.*`] }));
  await store.ask(requests);
  const claims = new Claims();
  const grants = await Promise.all(
    requests.map(async ({ id }, index) => claims.note(await parties[index % 4]!.store.claimIdle(1, [id]))),
  );
  const claimed = new Set(grants.flat().flatMap(({ runners }) => runners.map(({ id }) => id)));
  assert.equal(claimed.size, grants.flat().length);
  // Requests that lost a race are served by the next pass.
  for (const { id } of requests) claims.note(await store.claimIdle(1, [id]));
  const waiting = await store.waiting(100);
  const idle = await countIdle(database);
  assert.equal(waiting.length - idle, 20);
  assert.ok(idle === 0 || waiting.every(({ allowed_instance_types: [type] }) => type !== undefined));
  assert.deepEqual(await database.query(BROKEN), []);
});

test('gangs of several processes: all or none, and no sufficient number of runners is left over', async () => {
  const { parties, store, database } = await openField(4);
  await seedIdle(
    database,
    many(20, () => 'a.large'),
  );
  const requests = many(8, () => newRequest({ count: 5 }));
  await store.ask(requests);
  const grants = await Promise.all(requests.map(({ id }, index) => parties[index % 4]!.store.claimIdle(1, [id])));
  assert.deepEqual(
    grants.flat().map(({ runners }) => runners.length),
    [5, 5, 5, 5],
  );
  assert.equal(await countIdle(database), 0);
  assert.deepEqual(await database.query(BROKEN), []);
});

test('a request that arrives during a release is served, in either order', async () => {
  const { parties, store, database } = await openField(2);
  const [runner] = await seedIdle(database, ['a.large']);
  let [held] = await serve(store, newRequest());
  for (let round = 0; round < 40; round += 1) {
    const request = newRequest();
    const [released] = await Promise.all([
      parties[0]!.store.release(runner!, held!.runners[0]!.epoch),
      serve(parties[1]!.store, request),
    ]);
    assert.equal(released, true);
    const { state, runners } = (await store.request(request.id))!;
    assert.equal(state, 'granted', `round ${round}`);
    held = {
      request_id: request.id,
      runners: runners.map(({ id, number, epoch }) => ({ ...GRANTED, id, number, epoch })),
    };
  }
});

const GRANTED = { instance_type: 'a.large', address: null };

async function serve(store: Field['store'], request: ReturnType<typeof newRequest>): Promise<Grant[]> {
  await store.ask([request]);
  return store.claimIdle(1, [request.id]);
}

test('runners released at the same time are all granted to waiting requests', async () => {
  const { parties, store, database } = await openField(4);
  await seedIdle(
    database,
    many(24, () => 'a.large'),
  );
  const first = many(24, () => newRequest());
  await store.ask(first);
  const held = await store.claimIdle(24);
  assert.equal(held.length, 24);
  const second = many(24, (index) => newRequest({ tenant: `tenant ${index % 5}` }));
  await store.ask(second);
  await Promise.all(
    held.map(({ runners }, index) => parties[index % 4]!.store.release(runners[0]!.id, runners[0]!.epoch)),
  );
  assert.equal((await store.waiting(100)).length, 0);
  assert.equal(await countIdle(database), 0);
  assert.deepEqual(await database.query(BROKEN), []);
});

/** Actions of a process, one at each step. */
function acts(
  { store }: Field['parties'][number],
  claims: Claims,
  live: readonly string[],
  counts: Map<string, number>,
) {
  const some = (index: number): string => live[index % live.length]!;
  return [
    (index: number) => {
      const requests = many(3, () => newRequest({ count: 1 + (index % 3), tenant: `t${index % 4}` }));
      for (const { id, count } of requests) counts.set(id, count);
      return store.ask(requests);
    },
    async () => claims.noteWhole(await store.claimIdle(5), counts),
    async (index: number) => {
      const [request] = (await store.waiting(10)).slice(index % 7);
      if (request !== undefined) claims.noteWhole(await store.claimIdle(1, [request.id]), counts);
    },
    (index: number) => store.release(some(index * 7), null),
    async (index: number) => store.release(some(index * 5 + 1), null),
    async (index: number) => {
      const granted = (await store.granted(20)).slice(index % 5, (index % 5) + 3);
      await store.withdraw(
        granted.map(({ id }) => id),
        'over',
      );
    },
    async (index: number) => {
      const [request] = await store.waiting(1);
      if (request === undefined) return;
      const { grant } = await store.claim(request.id, [some(index), some(index + 1), some(index + 2)]);
      // A request that was granted meanwhile is answered again, with its remaining runners.
      claims.note(grant === null ? [] : [grant]);
    },
    (index: number) =>
      index % 9 === 0 ? store.terminate([some(index), some(index + 3)], 'terminated by a user') : undefined,
    (index: number) => (index % 13 === 0 ? store.drain([some(index + 1), some(index + 4)], 'drained') : undefined),
    (index: number) => store.heartbeat(some(index)),
    async () => store.sweep(100, []),
  ];
}

test('all operations concurrently: no runner is held twice, every request has all or none, and there is no deadlock', async () => {
  const field = await openField(4, { reserve_after_ms: 0 });
  const { parties, store, database } = field;
  const live = await seedIdle(
    database,
    many(60, (index) => `${'ab'[index % 2]!}.large`),
  );
  const requests = many(40, (index) => newRequest({ count: 1 + (index % 4), tenant: `t${index % 4}` }));
  const counts = new Map(requests.map(({ id, count }) => [id, count]));
  await store.ask(requests);
  const claims = new Claims();
  await Promise.all(
    parties.map(async (party, at) => {
      const all = acts(party, claims, live, counts);
      for (let step = 0; step < 120; step += 1) await all[(step * 5 + at * 3) % all.length]!(step * 4 + at);
    }),
  );
  assert.deepEqual(await database.query(BROKEN), []);
  const left = await database.query<{ id: string }>(LIVE);
  assert.ok(left.length > 0 && left.length < live.length, `${left.length} are left`);
  // Sessions report their deadlocks when they end.
  await Promise.all(parties.slice(1).map((party) => party.database.close()));
  const { n } = await eventually(async () => {
    const [row] = await database.query<{ n: number; others: number }>(DEADLOCKS);
    return row!.others <= 4 && row!;
  }, 'the other sessions have ended');
  assert.equal(n, 0);
});

test('a request that only a locked runner could serve is not exhausted', async () => {
  const { store, database, parties } = await openField(2);
  const [runner] = await seedIdle(database, ['a.large']);
  const request = newRequest();
  await store.ask([request]);
  const locked = Promise.withResolvers<undefined>();
  const free = Promise.withResolvers<undefined>();
  const holding = parties[1]!.database.transaction(async (tx) => {
    await tx.query({ name: 'test.hold', text: 'select 1 from runner where id = $1 for update' }, [runner]);
    locked.resolve(undefined);
    await free.promise;
  });
  await locked.promise;
  const [served] = await store.serveIdle([request.id]);
  free.resolve(undefined);
  await holding;
  assert.deepEqual(served, { request_id: request.id, grant: null, exhaustion: 'uncertain' });
  const [again] = await store.serveIdle([request.id]);
  assert.equal(again?.grant?.runners[0]?.id, runner);
});

test('a runner that is drained while another one of its request is released ends', async () => {
  const { store, database, parties } = await openField(3);
  await seedIdle(database, ['a.large', 'a.large']);
  const [grant] = await serve(store, newRequest({ count: 2 }));
  const [released, drained] = grant!.runners;
  const locked = Promise.withResolvers<undefined>();
  const free = Promise.withResolvers<undefined>();
  const draining = parties[1]!.database.transaction(async (tx) => {
    await tx.query({ name: 'test.drain', text: 'update runner set draining = true where id = $1' }, [drained!.id]);
    locked.resolve(undefined);
    await free.promise;
  });
  await locked.promise;
  let isReleased = false;
  const releasing = parties[2]!.store.release(released!.id, released!.epoch).finally(() => (isReleased = true));
  await eventually(
    async () => isReleased || (await database.query(WAITING_SESSIONS)).length > 0,
    'the release waits for the drain',
  );
  free.resolve(undefined);
  await Promise.all([draining, releasing]);
  const states = new Map((await store.list({}, { offset: 0, limit: 10 })).map(({ id, state }) => [id, state]));
  assert.equal(states.get(released!.id), 'idle');
  assert.equal(states.get(drained!.id), 'terminated');
});

test('a type and a shape added concurrently see each other', async () => {
  const { parties, database } = await openField(2);
  const fits = parties.map(() => new FitCache(CLASSES));
  const { resource_class, usage_class } = requirementsOf();
  for (let round = 0; round < 25; round += 1) {
    const type = { resource_class, usage_class, instance_type: `r${round}.large`, cpu: 2, memory_mib: 4_096 };
    const shape = requirementsOf({ types: [`r${round}.*`] });
    const [[typeId], [shapeId], [same]] = await Promise.all([
      parties[0]!.database.transaction((tx) => fits[0]!.typeIds(tx, [type])),
      parties[1]!.database.transaction((tx) => fits[1]!.shapeIds(tx, [shape])),
      parties[0]!.database.transaction((tx) => fits[0]!.shapeIds(tx, [shape])),
    ]);
    assert.equal(shapeId, same);
    const pairs = await database.query(
      { name: 'test.fit', text: 'select 1 from runner_fit where shape_id = $1 and type_id = $2' },
      [shapeId, typeId],
    );
    assert.equal(pairs.length, 1, `round ${round}`);
  }
});

test('shapes written by a failed transaction are not cached', async () => {
  const { database } = await openField();
  const fits = new FitCache(CLASSES);
  const shape = requirementsOf({ types: ['x.*'] });
  const failing = database.transaction(async (tx) => {
    await fits.shapeIds(tx, [shape]);
    await fits.shapeIds(tx, [shape]);
    throw new Error('on purpose');
  });
  await assert.rejects(failing, /on purpose/);
  const [id] = await database.transaction((tx) => fits.shapeIds(tx, [shape]));
  const found = await database.query({ name: 'test.shape', text: 'select 1 from runner_shape where id = $1' }, [id]);
  assert.equal(found.length, 1);
});

test('a hundred tenants with very different numbers of requests get equal shares', async () => {
  const { store, database } = await openField();
  await seedIdle(
    database,
    many(100, () => 'a.large'),
  );
  const requests = many(100, (tenant) => many(4 + (tenant % 10) * 4, () => newRequest({ tenant: `tenant ${tenant}` })));
  const all = requests.flat();
  for (let from = 0; from < all.length; from += 500) await store.ask(all.slice(from, from + 500));
  await store.claimIdle(100);
  const shares = new Map<string, number>();
  for (let round = 0; round < 4; round += 1) {
    const granted = await store.granted(1_000);
    assert.equal(granted.length, 100);
    for (const { tenant } of granted) shares.set(tenant, (shares.get(tenant) ?? 0) + 1);
    // Their runners are granted to the first requests in the queue.
    await store.withdraw(
      granted.map(({ id }) => id),
      'served',
    );
  }
  const counts = [...shares.values()];
  const sum = counts.reduce((total, count) => total + count, 0);
  const squares = counts.reduce((total, count) => total + count * count, 0);
  assert.ok(counts.length === 100 && (sum * sum) / (100 * squares) >= 0.95, `${(sum * sum) / (100 * squares)}`);
});
