/** All operations of servers and agents on one pool, concurrently from several connections. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { RunnerStore } from '../../../src/pool/port/store.ts';
import { seededRandom } from '@heddle/base/random';
import type { Database } from '../../../src/store/database.ts';
import { createTestDatabase, openTestDatabase } from '@heddle/test-support/postgres';
import { PROVIDER, SECOND, TIMES, type Yard } from '../../support/pool/store/fixture.ts';
import { assertSound, emptyPool } from '../../support/pool/store/pool-books.ts';
import { postgresYard } from '../../support/pool/store/postgres-store.ts';

const SEEDS = [1, 2, 3];
const STEPS = 150;
const RATE = { per_second: 1_000, burst: 1_000 };
const PAGE = { offset: 0, limit: 1_000 };

let database: Database;
const others: Database[] = [];

before(async () => {
  const made = await createTestDatabase({ maxSize: 4 });
  database = made.database;
  for (let count = 1; count < 4; count += 1) others.push(openTestDatabase(made.url, { maxSize: 2 }));
});
after(() => Promise.all(others.map((each) => each.close())));

type Act = (store: RunnerStore, yard: Yard, pick: <T>(items: readonly T[]) => T | undefined) => Promise<unknown>;

async function some(store: RunnerStore, pick: Parameters<Act>[2], count: number): Promise<string[]> {
  const live = await store.list({ ended: false }, PAGE);
  const ids = Array.from({ length: count }, () => pick(live)?.id);
  return [...new Set(ids.filter((id) => id !== undefined))];
}

/** Actions that create runners and keep them alive; more frequent than those that end them. */
const MAKING: readonly Act[] = [
  (store, yard, pick) =>
    store.ask(
      Array.from({ length: pick([1, 2, 5])! }, () =>
        yard.newRequest({
          count: pick([1, 1, 2, 3])!,
          types: pick([[], ['a.*'], ['b.*']])!,
          tenant: pick(['one', 'two'])!,
          expires_at: pick([null, null, yard.now + 20 * SECOND])!,
        }),
      ),
    ),
  (_store, yard, pick) => yard.plan(pick([1, 3])),
  async (store, yard, pick) => {
    for (const { id, runner_ids: ids } of await store.takeBatches(PROVIDER, 5, SECOND, RATE)) {
      const type = pick(['a.large', 'b.large'])!;
      if (pick([true, true, false])!) {
        const launched = ids.slice(pick([0, 0, 1])).map((runner) => yard.launchedAs(runner, { type }));
        await store.launched(id, launched, launched.length < ids.length ? 'no more of these' : null);
      } else await store.launchFailed(id, 'no answer', pick([null, yard.now + SECOND])!);
    }
  },
  async (store, yard) => {
    const created = await store.list({ state: 'created' }, PAGE);
    for (const { id, provider_id } of created.slice(0, 5)) if (provider_id !== null) await yard.register(id);
  },
  (store) => store.claimIdle(10),
  async (store, _yard, pick) => {
    const request = pick(await store.waiting(10));
    const idle = (await store.list({ state: 'idle' }, PAGE)).slice(0, 4).map(({ id }) => id);
    if (request !== undefined && idle.length > 0) await store.claim(request.id, idle);
  },
  async (store) => {
    for (const { id, epoch } of await store.list({ state: 'claimed' }, PAGE)) await store.confirm(id, epoch);
  },
  async (store, _yard, pick) => {
    const runner = pick(await store.list({ state: 'running' }, PAGE));
    if (runner !== undefined) await store.release(runner.id, runner.epoch);
  },
  async (store, _yard, pick) => {
    const live = await store.list({ ended: false }, PAGE);
    const speaking = live.filter(({ state }) => state !== 'created' && pick([true, true, true, true, false])!);
    await Promise.all(speaking.map(({ id }) => store.heartbeat(id)));
  },
];

const ENDING: readonly Act[] = [
  async (store, _yard, pick) => {
    const granted = pick(await store.granted(20));
    if (granted !== undefined) await store.withdraw([granted.id], 'over');
  },
  async (store, _yard, pick) => store.drain(await some(store, pick, 1), 'drained'),
  async (store, _yard, pick) => store.terminate(await some(store, pick, 1), 'terminated by a user'),
  (store) => store.sweep(20, [{ resource_class: 'large', usage_class: 'on-demand', count: 2 }]),
  async (store, yard, pick) => {
    const live = await store.list({ ended: false }, PAGE);
    const there = live.filter(({ provider_id }) => provider_id !== null && pick([true, true, true, true, false])!);
    await store.reconcile(
      PROVIDER,
      there.map(({ id }) => yard.instance(id)),
    );
  },
  (store, yard) => store.unoffered(10, yard.now - SECOND),
];

const ACTS = [...MAKING, ...MAKING, ...MAKING, ...ENDING];

for (const seed of SEEDS) {
  test(`concurrent servers and agents, seed ${seed}`, async () => {
    await emptyPool(database);
    const { yard, store, another } = await postgresYard(database);
    const servers = [store, ...others.map((other) => another(other))].map(async (each, index) => {
      const random = seededRandom(seed * 100 + index);
      const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random.next() * items.length)];
      for (let step = 0; step < STEPS; step += 1) {
        await pick(ACTS)!(each, yard, pick);
        yard.pass(500);
      }
    });
    await Promise.all(servers);
    await assertSound(database);

    // All fall silent: eventually no runner is left, and waiting requests have none.
    for (let round = 0; round < 40; round += 1) {
      yard.pass(TIMES.recheck_ms);
      await Promise.all([store.sweep(1_000, []), another(others[0]!).sweep(1_000, [])]);
    }
    assert.deepEqual(await store.list({ ended: false }, PAGE), []);
    await assertSound(database);
  });
}
