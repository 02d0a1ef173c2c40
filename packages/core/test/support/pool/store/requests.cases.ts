import assert from 'node:assert/strict';

import { SECOND, type Case } from './fixture.ts';

/** Requesting, queue order, withdrawing. */
export const REQUEST_CASES: readonly Case[] = [
  {
    name: 'a request is stored as given',
    async run(yard) {
      const asked = yard.newRequest({ types: ['b*', 'a.*'], count: 2, run: 'me', expires_at: yard.now + 60 * SECOND });
      await yard.store.ask([asked]);
      const { runners, rank, shape_id, ...request } = await yard.request(asked.id);
      assert.deepEqual(runners, []);
      assert.ok(Number.isInteger(rank) && Number.isInteger(shape_id));
      const fresh = {
        state: 'waiting',
        kept: 0,
        created_at: yard.now,
        granted_at: null,
        exhaustion: null,
        reason: null,
      };
      assert.deepEqual(request, { ...asked, allowed_instance_types: ['a.*', 'b*'], ...fresh });
    },
  },
  {
    name: 'an unknown request is null',
    async run(yard) {
      assert.equal(await yard.store.request(yard.newId()), null);
    },
  },
  {
    name: 'repeating a request changes nothing, whatever its state',
    async run(yard) {
      const asked = yard.newRequest();
      await yard.store.ask([asked, asked]);
      const before = await yard.request(asked.id);
      yard.pass(SECOND);
      await yard.store.ask([{ ...asked, tenant: 'other', count: 5 }]);
      assert.deepEqual(await yard.request(asked.id), before);
      assert.equal((await yard.store.waiting(10)).length, 1);
      await yard.store.withdraw([asked.id], 'enough');
      await yard.store.ask([asked]);
      assert.equal((await yard.request(asked.id)).state, 'ended');
    },
  },
  {
    name: 'repeating a request does not delay the next request of the tenant',
    async run(yard) {
      const first = yard.newRequest({ tenant: 'one' });
      for (let turn = 0; turn < 5; turn += 1) await yard.store.ask([first]);
      const other = await yard.ask({ tenant: 'two' });
      const second = await yard.ask({ tenant: 'one' });
      const third = await yard.ask({ tenant: 'two' });
      assert.deepEqual(await queueOrder(yard), [first.id, other, second, third]);
    },
  },
  {
    name: 'equal requirements make one shape, regardless of order and letter case',
    async run(yard) {
      const one = await yard.request(await yard.ask({ types: ['a.large', 'b*'] }));
      const other = await yard.request(await yard.ask({ types: ['B*', 'A.LARGE'] }));
      const third = await yard.request(await yard.ask({ types: ['b*'] }));
      assert.equal(one.shape_id, other.shape_id);
      assert.notEqual(one.shape_id, third.shape_id);
    },
  },
  {
    name: 'requests of one tenant wait in the order in which they were sent',
    async run(yard) {
      const asked = Array.from({ length: 20 }, () => yard.newRequest());
      await yard.store.ask(asked.toReversed());
      assert.deepEqual(await queueOrder(yard), asked.map(({ id }) => id).reverse());
    },
  },
  {
    name: 'a tenant with many requests does not delay the first one of another',
    async run(yard) {
      await yard.store.ask(Array.from({ length: 50 }, () => yard.newRequest({ tenant: 'many' })));
      const late = await yard.ask({ tenant: 'late' });
      const later = await yard.ask({ tenant: 'later' });
      const order = await queueOrder(yard);
      assert.ok(order.indexOf(late) <= 2, `its position is ${order.indexOf(late)}`);
      assert.ok(order.indexOf(later) <= 3, `its position is ${order.indexOf(later)}`);
    },
  },
  {
    name: 'tenants alternate, within one set and between sets',
    async run(yard) {
      const set = (tenant: string) => Array.from({ length: 4 }, () => yard.newRequest({ tenant }));
      await yard.store.ask([...set('one'), ...set('two')]);
      await yard.store.ask(set('three'));
      const tenants = (await yard.store.waiting(100)).map(({ tenant }) => tenant);
      for (let at = 2; at <= 11; at += 1) {
        const seen = tenants.slice(0, at);
        const shares = ['one', 'two'].map((tenant) => seen.filter((each) => each === tenant).length);
        assert.ok(Math.abs(shares[0]! - shares[1]!) <= 1, seen.join());
      }
      assert.ok(tenants.indexOf('three') <= 4, tenants.join());
    },
  },
  {
    name: 'a tenant with a request for many runners waits longer for its next one',
    async run(yard) {
      await yard.ask({ tenant: 'first' });
      await yard.ask({ tenant: 'big', count: 10 });
      const small = await yard.ask({ tenant: 'small' });
      const next = await yard.ask({ tenant: 'big' });
      const order = await queueOrder(yard);
      assert.ok(order.indexOf(small) < order.indexOf(next));
    },
  },
  {
    name: 'a tenant gets no credit for its absence',
    async run(yard) {
      await yard.ask({ tenant: 'away' });
      for (let round = 0; round < 10; round += 1) {
        await yard.store.ask([yard.newRequest({ tenant: 'busy' }), yard.newRequest({ tenant: 'busy' })]);
        const waiting = await yard.store.waiting(100);
        await yard.store.withdraw([waiting[0]!.id, waiting[1]!.id], 'served');
      }
      await yard.store.ask(Array.from({ length: 4 }, () => yard.newRequest({ tenant: 'away' })));
      await yard.store.ask(Array.from({ length: 4 }, () => yard.newRequest({ tenant: 'busy' })));
      const tenants = (await yard.store.waiting(100)).map(({ tenant }) => tenant);
      assert.ok(tenants.lastIndexOf('away') > tenants.indexOf('busy', 1), tenants.join());
    },
  },
  {
    name: 'at most the requested number is returned',
    async run(yard) {
      const ids = [await yard.ask(), await yard.ask(), await yard.ask()];
      const shown = await yard.store.waiting(2);
      assert.deepEqual(
        shown.map(({ id }) => id),
        ids.slice(0, 2),
      );
    },
  },
  {
    name: 'a withdrawn request ends permanently, with the reason',
    async run(yard) {
      const id = await yard.ask();
      await yard.store.withdraw([id, yard.newId()], 'not needed');
      await yard.store.withdraw([id], 'another reason');
      const { state, reason } = await yard.request(id);
      assert.deepEqual({ state, reason }, { state: 'ended', reason: 'not needed' });
      assert.deepEqual(await yard.store.waiting(10), []);
      await yard.arrive();
      assert.deepEqual(await yard.store.claimIdle(10), []);
    },
  },
  {
    name: 'withdrawing a granted request releases its runners, confirmed or not',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const id = await yard.ask({ count: 2 });
      const [grant] = await yard.store.claimIdle(10);
      await yard.store.confirm(runners[0]!, grant!.runners.find((each) => each.id === runners[0])!.epoch);
      const next = await yard.ask();
      await yard.store.withdraw([id], 'canceled');
      assert.equal((await yard.request(id)).state, 'ended');
      assert.equal((await yard.request(next)).state, 'granted');
      const states = await Promise.all(runners.map((each) => yard.stateOf(each)));
      assert.deepEqual(states.sort(), ['claimed', 'idle']);
    },
  },
  {
    name: 'the reason why a request got nothing is recorded while it waits',
    async run(yard) {
      const [one, other] = [await yard.ask(), await yard.ask()];
      await yard.store.noteExhausted([
        { request_id: one, exhaustion: 'local' },
        { request_id: other, exhaustion: 'global' },
      ]);
      await yard.store.noteExhausted([{ request_id: other, exhaustion: 'uncertain' }]);
      assert.equal((await yard.request(one)).exhaustion, 'local');
      assert.equal((await yard.request(other)).exhaustion, 'uncertain');
    },
  },
  {
    name: 'a request that was not served in time ends',
    async run(yard) {
      const hasty = await yard.ask({ expires_at: yard.now + SECOND });
      const patient = await yard.ask();
      assert.equal((await yard.store.sweep(10, [])).expired, 0);
      yard.pass(SECOND);
      assert.equal((await yard.store.sweep(10, [])).expired, 1);
      const { state, reason } = await yard.request(hasty);
      assert.equal(state, 'ended');
      assert.notEqual(reason, null);
      assert.equal((await yard.request(patient)).state, 'waiting');
    },
  },
  {
    name: 'a granted request does not expire',
    async run(yard) {
      await yard.arrive();
      const id = await yard.ask({ expires_at: yard.now + SECOND });
      await yard.store.claimIdle(1);
      yard.pass(2 * SECOND);
      assert.equal((await yard.store.sweep(10, [])).expired, 0);
      assert.equal((await yard.request(id)).state, 'granted');
    },
  },
];

async function queueOrder(yard: Parameters<Case['run']>[0]): Promise<string[]> {
  return (await yard.store.waiting(1_000)).map(({ id }) => id);
}
