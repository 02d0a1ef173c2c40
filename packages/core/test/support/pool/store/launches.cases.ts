import assert from 'node:assert/strict';

import type { LaunchRate } from '../../../../src/pool/port/store.ts';
import { PROVIDER, SECOND, TIMES, providerIdOf, type Case, type Yard } from './fixture.ts';

const PLENTY: LaunchRate = { per_second: 1_000, burst: 1_000 };
const LEASE_MS = 30 * SECOND;

function take(yard: Yard, rate = PLENTY, limit = 100) {
  return yard.store.takeBatches(PROVIDER, limit, LEASE_MS, rate);
}

/** Wanted and launching runners, summed over the shapes with a shortage. */
async function lack(yard: Yard): Promise<{ wanted: number; coming: number }[]> {
  const shortages = (await yard.store.shortages()).filter(({ wanted }) => wanted > 0);
  return shortages.map(({ wanted, coming }) => ({ wanted, coming }));
}

/** Launches: plans, leases, budget, answers of every kind. */
export const LAUNCH_CASES: readonly Case[] = [
  {
    name: 'shortages by shape include the longest wait',
    async run(yard) {
      const since = yard.now;
      await yard.ask({ types: ['a.*'] });
      yard.pass(SECOND);
      await yard.ask({ types: ['a.*'], count: 3 });
      await yard.ask({ types: ['b.*'] });
      const shortages = (await yard.store.shortages()).toSorted((one, other) => other.wanted - one.wanted);
      assert.deepEqual(
        shortages.map(({ requirements, wanted, coming, since }) => [
          requirements.allowed_instance_types,
          wanted,
          coming,
          since,
        ]),
        [
          [['a.*'], 4, 0, since],
          [['b.*'], 1, 0, since + SECOND],
        ],
      );
    },
  },
  {
    name: 'granted and ended requests are not short',
    async run(yard) {
      await yard.arrive();
      await yard.ask();
      await yard.store.claimIdle(1);
      await yard.store.withdraw([await yard.ask()], 'over');
      assert.deepEqual(await lack(yard), []);
    },
  },
  {
    name: 'planned runners of a shape count as coming until they register',
    async run(yard) {
      await yard.ask({ count: 2, types: ['a.*'] });
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch, types: ['a.*'] });
      assert.deepEqual(await lack(yard), [{ wanted: 2, coming: 1 }]);
      await yard.store.launched(batch, [yard.launchedAs(id!)], null);
      assert.deepEqual(await lack(yard), [{ wanted: 2, coming: 1 }]);
      await yard.register(id!);
      assert.deepEqual(await lack(yard), [{ wanted: 2, coming: 0 }]);
    },
  },
  {
    name: 'a planned runner exists at once, and planning it again changes nothing',
    async run(yard) {
      const [batch, runner] = [yard.newId(), yard.newId()];
      const planned = {
        ...{ id: batch, provider: PROVIDER, cpu: 2, memory_mib: 4_096, runner_ids: [runner] },
        requirements: {
          ...{ resource_class: 'large', usage_class: 'spot' as const, allowed_instance_types: ['a.*'] },
          ...{ cpu: null, memory_mib: null },
        },
      };
      await yard.store.plan([planned]);
      const before = await yard.runner(runner);
      assert.deepEqual([before.state, before.provider_id, before.epoch], ['created', null, 0]);
      assert.deepEqual([before.resource_class, before.usage_class], ['large', 'spot']);
      assert.equal(before.threshold, yard.now + TIMES.created_ms);
      yard.pass(SECOND);
      await yard.store.plan([planned]);
      assert.deepEqual(await yard.runner(runner), before);
      assert.equal((await take(yard)).length, 1);
    },
  },
  {
    name: 'a batch is leased once, and leased again unchanged after its lease expired',
    async run(yard) {
      const batch = yard.newId();
      const ids = await yard.plan(3, { id: batch, types: ['a.*'] });
      const plannedAt = yard.now;
      const [first, ...others] = await take(yard);
      assert.deepEqual(others, []);
      assert.deepEqual(
        { ...first, runner_ids: first?.runner_ids.toSorted() },
        {
          id: batch,
          requirements: {
            ...{ resource_class: 'large', usage_class: 'on-demand', allowed_instance_types: ['a.*'] },
            ...{ cpu: null, memory_mib: null },
          },
          ...{ cpu: 2, memory_mib: 4_096, runner_ids: ids, planned_at: plannedAt, tries: 0 },
        },
      );
      assert.deepEqual(await take(yard), []);
      yard.pass(LEASE_MS);
      assert.deepEqual(await take(yard), [{ ...first!, tries: 1 }]);
    },
  },
  {
    name: 'batches of another provider are not taken',
    async run(yard) {
      await yard.plan();
      assert.deepEqual(await yard.store.takeBatches('elsewhere', 10, LEASE_MS, PLENTY), []);
    },
  },
  {
    name: 'no more batches are leased than the budget allows, and the budget refills over time',
    async run(yard) {
      for (let count = 0; count < 6; count += 1) await yard.plan();
      const rate: LaunchRate = { per_second: 1, burst: 3 };
      assert.equal((await take(yard, rate)).length, 3);
      assert.equal((await take(yard, rate)).length, 0);
      yard.pass(SECOND);
      assert.equal((await take(yard, rate)).length, 1);
      yard.pass(10 * SECOND);
      assert.equal((await take(yard, rate)).length, 2);
    },
  },
  {
    name: 'the budget counts runners, not batches',
    async run(yard) {
      await yard.plan(2);
      yard.pass(1);
      await yard.plan(2);
      const rate: LaunchRate = { per_second: 1, burst: 3 };
      assert.equal((await take(yard, rate)).length, 1);
      yard.pass(SECOND);
      assert.equal((await take(yard, rate)).length, 1);
    },
  },
  {
    name: 'a batch larger than the whole budget is launched when the budget is full',
    async run(yard) {
      await yard.plan(5);
      const rate: LaunchRate = { per_second: 1, burst: 2 };
      let taken = 0;
      for (let second = 0; second < 10 && taken === 0; second += 1) {
        taken += (await take(yard, rate)).length;
        yard.pass(SECOND);
      }
      assert.equal(taken, 1);
    },
  },
  {
    name: 'a launched runner has the properties of its launch, and time to register',
    async run(yard) {
      const id = await yard.launch({ type: 'm7i.large' });
      const runner = await yard.runner(id);
      assert.deepEqual(
        [runner.state, runner.provider_id, runner.instance_type, runner.cpu, runner.memory_mib],
        ['created', providerIdOf(id), 'm7i.large', 2, 4_096],
      );
      assert.equal(runner.threshold, yard.now + TIMES.register_ms);
      assert.deepEqual(await take(yard), []);
    },
  },
  {
    name: 'a repeated answer changes nothing',
    async run(yard) {
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch });
      await yard.store.launched(batch, [yard.launchedAs(id!)], null);
      await yard.register(id!);
      const before = await yard.runner(id!);
      yard.pass(SECOND);
      await yard.store.launched(batch, [yard.launchedAs(id!)], null);
      assert.deepEqual(await yard.runner(id!), before);
    },
  },
  {
    name: 'of an incomplete launch, the missing runners end',
    async run(yard) {
      const batch = yard.newId();
      const [one, other] = await yard.plan(2, { id: batch });
      await yard.store.launched(batch, [yard.launchedAs(one!)], 'there was one only');
      assert.equal(await yard.stateOf(one!), 'created');
      const { state, reason } = await yard.runner(other!);
      assert.equal(state, 'terminated');
      assert.match(reason ?? '', /there was one only|never launched/);
      assert.deepEqual(await yard.store.leaving(PROVIDER, 10), []);
    },
  },
  {
    name: 'a failed launch is retried when it is due, and not before',
    async run(yard) {
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch });
      await take(yard);
      await yard.store.launchFailed(batch, 'slower, please', yard.now + 5 * SECOND);
      yard.pass(4 * SECOND);
      assert.deepEqual(await take(yard), []);
      yard.pass(SECOND);
      assert.deepEqual(
        (await take(yard)).map(({ id, runner_ids, tries }) => [id, runner_ids, tries]),
        [[batch, [id], 1]],
      );
      assert.equal(await yard.stateOf(id!), 'created');
    },
  },
  {
    name: 'a launch that finally failed ends its runners, and waiting requests show the reason',
    async run(yard) {
      const request = await yard.ask({ types: ['a.*'] });
      const other = await yard.ask({ types: ['b.*'] });
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch, types: ['a.*'] });
      await take(yard);
      await yard.store.launchFailed(batch, 'no capacity left', null);
      const { state, reason } = await yard.runner(id!);
      assert.deepEqual([state, reason?.includes('no capacity left')], ['terminated', true]);
      yard.pass(2 * LEASE_MS);
      assert.deepEqual(await take(yard), []);
      const waiting = await yard.request(request);
      assert.deepEqual([waiting.state, waiting.reason?.includes('no capacity left')], ['waiting', true]);
      assert.equal((await yard.request(other)).reason, null);
      assert.deepEqual(
        (await lack(yard)).map(({ coming }) => coming),
        [0, 0],
      );
    },
  },
  {
    name: 'a batch without live runners is not retried',
    async run(yard) {
      const ids = await yard.plan(2);
      await yard.store.drain(ids, 'drained');
      assert.deepEqual(await take(yard), []);
    },
  },
  {
    name: 'an instance launched for an ended runner must be terminated',
    async run(yard) {
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch });
      await take(yard);
      await yard.store.terminate([id!], 'terminated by a user');
      assert.deepEqual(await yard.store.leaving(PROVIDER, 10), []);
      await yard.store.launched(batch, [yard.launchedAs(id!)], null);
      assert.equal(await yard.stateOf(id!), 'terminated');
      assert.deepEqual(await yard.store.leaving(PROVIDER, 10), [{ id, provider_id: providerIdOf(id!) }]);
    },
  },
  {
    name: 'ended runners are listed as leaving until they are gone',
    async run(yard) {
      const [one, other, third] = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
      await yard.store.terminate([one, other], 'terminated by a user');
      assert.deepEqual(await yard.store.leaving('elsewhere', 10), []);
      assert.equal((await yard.store.leaving(PROVIDER, 1)).length, 1);
      const ids = async () => (await yard.store.leaving(PROVIDER, 10)).map(({ id }) => id).sort();
      assert.deepEqual(await ids(), [one, other]);
      await yard.store.gone([one, third]);
      assert.deepEqual(await ids(), [other]);
      assert.equal(await yard.stateOf(third), 'idle');
    },
  },
  {
    name: 'a request that waits for capacity is overtaken as often as allowed, then not at all',
    async run(yard) {
      const { id, request } = await yard.running();
      const first = await yard.ask({ resource_class: 'xlarge' });
      const [second, third] = [await yard.ask(), await yard.ask()];
      const limits = { missing: 1, coming: 0, max_runners: 1, overtakes: 1, lease_ms: LEASE_MS };
      assert.equal(await yard.store.freeCapacity({ request_id: first, ...limits }), 0, 'no runner is idle');
      await yard.store.withdraw([request], 'done');
      assert.deepEqual(await yard.holdersOf(second), [id]);
      await yard.store.withdraw([second], 'done');
      assert.equal(await yard.stateOf(id), 'idle', 'it is not granted');
      assert.equal((await yard.request(third)).state, 'waiting');
      assert.deepEqual(await yard.store.claimIdle(10), []);
      assert.equal(await yard.store.freeCapacity({ request_id: first, ...limits }), 1);
      assert.equal((await yard.runner(id)).reason, 'evicted');
    },
  },
];
