import assert from 'node:assert/strict';

import type { ProviderInstance } from '../../../../src/pool/port/provider.ts';
import { PROVIDER, SECOND, TIMES, type Case, type Yard } from './fixture.ts';

const NOTHING = { orphans: [], vanished: 0 };

function reconcile(yard: Yard, ...listed: readonly ProviderInstance[]) {
  return yard.store.reconcile(PROVIDER, listed);
}

/** Reconciliation of store, provider and heartbeats. */
export const RECONCILE_CASES: readonly Case[] = [
  {
    name: 'consistent runners are left unchanged',
    async run(yard) {
      const [idle, created] = [await yard.arrive(), await yard.launch()];
      for (let round = 0; round < 3; round += 1) {
        assert.deepEqual(await reconcile(yard, yard.instance(idle), yard.instance(created)), NOTHING);
        await yard.live(TIMES.recheck_ms, idle);
      }
      assert.deepEqual([await yard.stateOf(idle), await yard.stateOf(created)], ['idle', 'created']);
    },
  },
  {
    name: 'an orphaned instance is returned at the second check',
    async run(yard) {
      const stranger = yard.instance(yard.newId(), { runner_id: null });
      assert.deepEqual(await reconcile(yard, stranger), NOTHING);
      yard.pass(TIMES.recheck_ms - 1);
      assert.deepEqual(await reconcile(yard, stranger), NOTHING);
      yard.pass(1);
      assert.deepEqual(await reconcile(yard, stranger), { orphans: [stranger.provider_id], vanished: 0 });
      assert.deepEqual((await reconcile(yard, stranger)).orphans, [stranger.provider_id]);
      assert.deepEqual(await reconcile(yard), NOTHING);
    },
  },
  {
    name: 'an instance that is gone, or was missing in between, is not an orphan',
    async run(yard) {
      const gone = yard.instance(yard.newId(), { state: 'gone' });
      const stranger = yard.instance(yard.newId(), { runner_id: null });
      await reconcile(yard, gone, stranger);
      yard.pass(TIMES.recheck_ms);
      assert.deepEqual(await reconcile(yard, gone), NOTHING);
      yard.pass(TIMES.recheck_ms);
      assert.deepEqual(await reconcile(yard, gone, stranger), NOTHING);
    },
  },
  {
    name: 'an instance of a launch without an answer is not an orphan',
    async run(yard) {
      const [batch, other] = [yard.newId(), yard.newId()];
      const [named] = await yard.plan(1, { id: batch });
      await yard.plan(1, { id: other });
      const listed = [yard.instance(named!), yard.instance(yard.newId(), { runner_id: null, batch_id: other })];
      await reconcile(yard, ...listed);
      yard.pass(TIMES.recheck_ms);
      assert.deepEqual(await reconcile(yard, ...listed), NOTHING);
    },
  },
  {
    name: 'an instance started for an ended runner is terminated',
    async run(yard) {
      const [id] = await yard.plan();
      await yard.store.terminate([id!], 'never launched');
      const listed = yard.instance(id!);
      await reconcile(yard, listed);
      yard.pass(TIMES.recheck_ms);
      const { orphans } = await reconcile(yard, listed);
      const leaving = (await yard.store.leaving(PROVIDER, 10)).map(({ provider_id }) => provider_id);
      assert.ok([...orphans, ...leaving].includes(listed.provider_id));
    },
  },
  {
    name: 'a runner whose instance is missing twice has vanished',
    async run(yard) {
      const id = await yard.launch();
      assert.deepEqual(await reconcile(yard), NOTHING);
      yard.pass(TIMES.recheck_ms);
      assert.deepEqual(await reconcile(yard), { orphans: [], vanished: 1 });
      const { state, reason } = await yard.runner(id);
      assert.deepEqual({ state, reason }, { state: 'terminated', reason: 'vanished' });
      assert.deepEqual(await reconcile(yard), NOTHING);
    },
  },
  {
    name: 'a runner whose instance was listed in between has not vanished',
    async run(yard) {
      const id = await yard.launch();
      await reconcile(yard);
      yard.pass(TIMES.recheck_ms / 2);
      await reconcile(yard, yard.instance(id));
      yard.pass(TIMES.recheck_ms / 2);
      assert.deepEqual(await reconcile(yard), NOTHING);
      assert.equal(await yard.stateOf(id), 'created');
    },
  },
  {
    name: 'an instance reported gone counts as missing',
    async run(yard) {
      const id = await yard.launch();
      await reconcile(yard, yard.instance(id, { state: 'gone' }));
      yard.pass(TIMES.recheck_ms);
      assert.equal((await reconcile(yard, yard.instance(id, { state: 'gone' }))).vanished, 1);
    },
  },
  {
    name: 'a running runner with heartbeats is not ended, whatever its provider lists',
    async run(yard) {
      const { id } = await yard.running();
      for (let round = 0; round < 4; round += 1) {
        assert.deepEqual(await reconcile(yard), NOTHING);
        await yard.live(TIMES.recheck_ms, id);
      }
      assert.equal(await yard.stateOf(id), 'running');
    },
  },
  {
    name: 'a running runner without an instance ends when it falls silent, and its request waits',
    async run(yard) {
      const { id, request } = await yard.running();
      yard.pass(TIMES.heartbeat_max_age_ms + SECOND);
      await reconcile(yard);
      yard.pass(TIMES.recheck_ms);
      assert.equal((await reconcile(yard)).vanished, 1);
      assert.equal(await yard.stateOf(id), 'terminated');
      assert.equal((await yard.request(request)).state, 'waiting');
    },
  },
  {
    name: 'a silent runner is lost even if its provider still runs it',
    async run(yard) {
      const { id } = await yard.running();
      yard.pass(TIMES.heartbeat_timeout_ms + 1);
      const reasons: string[] = [];
      for (let round = 0; round < 8; round += 1) {
        reasons.push(...Object.keys((await yard.store.sweep(100, [])).ended));
        if ((await yard.stateOf(id)) !== 'terminated') await reconcile(yard, yard.instance(id));
        yard.pass(TIMES.recheck_ms / 3);
      }
      assert.deepEqual(reasons, ['lost']);
    },
  },
  {
    name: 'a listing does not affect runners of another provider',
    async run(yard) {
      const id = await yard.launch();
      for (let round = 0; round < 3; round += 1) {
        assert.deepEqual(await yard.store.reconcile('elsewhere', []), NOTHING);
        yard.pass(TIMES.recheck_ms);
      }
      assert.equal(await yard.stateOf(id), 'created');
    },
  },
];
