/** Queries of users: single runners, live runners, and granted requests. */
import assert from 'node:assert/strict';

import type { Case } from './fixture.ts';

const page = { offset: 0, limit: 10 };

export const LOOKUP_CASES: readonly Case[] = [
  {
    name: 'runners are found by their ids, the latest first',
    async run(yard) {
      const ids = [await yard.arrive(), await yard.arrive(), await yard.launch()];
      const found = await yard.store.list({ ids: [ids[2]!, ids[0]!, yard.newId()] }, page);
      assert.deepEqual(
        found.map(({ id }) => id),
        [ids[2], ids[0]],
      );
      assert.deepEqual(await yard.store.list({ ids: [] }, page), []);
      const idle = await yard.store.list({ ids, state: 'idle' }, page);
      assert.deepEqual(
        idle.map(({ id }) => id),
        [ids[1], ids[0]],
      );
    },
  },
  {
    name: 'ended runners are omitted on request',
    async run(yard) {
      const [kept, ended] = [await yard.arrive(), await yard.arrive()];
      await yard.store.terminate([ended], 'terminated by a user');
      const all = await yard.store.list({}, page);
      const live = await yard.store.list({ ended: false }, page);
      assert.deepEqual(
        [all, live].map((runners) => runners.map(({ id }) => id)),
        [[ended, kept], [kept]],
      );
      const gone = await yard.store.list({ ids: [ended] }, page);
      assert.deepEqual(
        gone.map(({ state, reason }) => [state, reason]),
        [['terminated', 'terminated by a user']],
      );
    },
  },
  {
    name: 'a runner that has not been launched has no type yet',
    async run(yard) {
      const [id] = await yard.plan();
      const [runner] = await yard.store.list({ ids: [id!] }, page);
      const { state, instance_type, provider_id, resource_class, usage_class } = runner!;
      assert.deepEqual(
        { state, instance_type, provider_id, resource_class, usage_class },
        {
          ...{ state: 'created', instance_type: '', provider_id: null },
          ...{ resource_class: 'large', usage_class: 'on-demand' },
        },
      );
    },
  },
  {
    name: 'granted requests are listed, the latest grant first',
    async run(yard) {
      await yard.arrive();
      const first = await yard.ask({ tenant: 'one' });
      await yard.store.claimIdle(1);
      await yard.arrive();
      const second = await yard.ask({ tenant: 'two', count: 1 });
      await yard.store.claimIdle(1);
      const waiting = await yard.ask();
      const ids = async (limit: number) => (await yard.store.granted(limit)).map(({ id }) => id);
      assert.deepEqual(await ids(10), [second, first]);
      assert.deepEqual(await ids(1), [second]);
      const [latest] = await yard.store.granted(1);
      assert.deepEqual([latest!.tenant, latest!.state, latest!.granted_at === null], ['two', 'granted', false]);
      await yard.store.withdraw([second], 'over');
      // Its runner is granted to the waiting request at once.
      assert.deepEqual((await ids(10)).sort(), [first, waiting].sort());
    },
  },
];
