import assert from 'node:assert/strict';

import { SECOND, TIMES, type Case } from './fixture.ts';

/** A runner that becomes free is granted to a waiting request at once. */
export const ARRIVAL_CASES: readonly Case[] = [
  {
    name: 'a new runner is granted to a waiting request at the same time',
    async run(yard) {
      const [first, second] = [await yard.ask(), await yard.ask()];
      const id = await yard.launch();
      const orders = await yard.register(id);
      assert.deepEqual([orders?.state, orders?.request_id], ['claimed', first]);
      assert.equal((await yard.request(first)).state, 'granted');
      assert.equal((await yard.request(second)).state, 'waiting');
    },
  },
  {
    name: 'a released runner is granted to the lowest rank that it fits',
    async run(yard) {
      const { id } = await yard.running({ type: 'b.large' });
      const stranger = await yard.ask({ types: ['a.*'] });
      const first = await yard.ask({ types: ['b.*'] });
      const second = await yard.ask();
      const before = await yard.runner(id);
      await yard.store.release(id, before.epoch);
      assert.deepEqual(await yard.holdersOf(first), [id]);
      assert.equal((await yard.request(stranger)).state, 'waiting');
      assert.equal((await yard.request(second)).state, 'waiting');
      assert.equal((await yard.runner(id)).epoch, before.epoch + 1);
    },
  },
  {
    name: 'the order is fair between tenants, however much one of them requests',
    async run(yard) {
      const { id } = await yard.running();
      await yard.store.ask(Array.from({ length: 10 }, () => yard.newRequest({ tenant: 'many' })));
      await yard.ask({ tenant: 'few' });
      const served: string[] = [];
      for (let round = 0; round < 3; round += 1) {
        await yard.store.release(id, null);
        const { request_id } = await yard.runner(id);
        served.push((await yard.request(request_id!)).tenant);
      }
      assert.ok(served.includes('few'), served.join());
    },
  },
  {
    name: 'a gang gets idle and arriving runners as soon as there are enough',
    async run(yard) {
      const idle = [await yard.arrive(), await yard.arrive()];
      const gang = await yard.ask({ count: 3 });
      assert.deepEqual(await yard.store.claimIdle(10), []);
      const last = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(gang), [...idle, last]);
    },
  },
  {
    name: "a runner that arrives while a gang cannot be served is granted to a later request, until the gang's patience ends",
    async run(yard) {
      const gang = await yard.ask({ count: 2 });
      const behind = await yard.ask();
      const first = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(behind), [first]);
      yard.pass(TIMES.reserve_after_ms);
      const later = await yard.ask();
      const second = await yard.arrive();
      assert.equal(await yard.stateOf(second), 'idle');
      assert.equal((await yard.request(later)).state, 'waiting');
      const third = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(gang), [second, third]);
    },
  },
  {
    name: 'silent runners do not count for a gang',
    async run(yard) {
      const silent = await yard.arrive();
      yard.pass(TIMES.heartbeat_max_age_ms + SECOND);
      const gang = await yard.ask({ count: 2 });
      const second = await yard.arrive();
      assert.equal((await yard.request(gang)).state, 'waiting');
      const third = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(gang), [second, third]);
      assert.equal(await yard.stateOf(silent), 'idle');
    },
  },
  {
    name: 'a runner without a recent heartbeat is not granted',
    async run(yard) {
      const { id, request } = await yard.running();
      const waiting = await yard.ask();
      yard.pass(TIMES.heartbeat_max_age_ms + SECOND);
      await yard.store.withdraw([request], 'canceled');
      assert.equal(await yard.stateOf(id), 'idle');
      assert.equal((await yard.request(waiting)).state, 'waiting');
    },
  },
];
