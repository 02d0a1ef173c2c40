import assert from 'node:assert/strict';

import { requirementsOf, SECOND, TIMES, type Case } from './fixture.ts';

/** Claiming idle runners: from the store's index, and by ID. */
export const CLAIM_CASES: readonly Case[] = [
  {
    name: 'an idle runner is claimed once',
    async run(yard) {
      const runner = await yard.arrive();
      const [first, second] = [await yard.ask(), await yard.ask()];
      const grants = await yard.store.claimIdle(10);
      assert.deepEqual(
        grants.map(({ request_id, runners }) => [request_id, runners.map(({ id }) => id)]),
        [[first, [runner]]],
      );
      assert.deepEqual(await yard.store.claimIdle(10), []);
      const { state, epoch, request_id, threshold } = await yard.runner(runner);
      assert.deepEqual({ state, request_id }, { state: 'claimed', request_id: first });
      assert.equal(epoch, grants[0]!.runners[0]!.epoch);
      assert.equal(threshold, yard.now + TIMES.claim_ms);
      const granted = await yard.request(first);
      assert.deepEqual([granted.state, granted.granted_at], ['granted', yard.now]);
      assert.deepEqual(await yard.holdersOf(first), [runner]);
      assert.equal((await yard.request(second)).state, 'waiting');
    },
  },
  {
    name: 'an EC2 runner is claimed by its instance ID, and an unknown instance is gone',
    async run(yard) {
      const [batch, runner, provider_id] = [yard.newId(), yard.newId(), 'i-0123456789abcdef0'];
      const requirements = requirementsOf({ resource_class: 'large' });
      const fields = { id: batch, provider: 'ec2', cpu: 2, memory_mib: 4_096, runner_ids: [runner] };
      await yard.store.plan([{ ...fields, requirements }]);
      const instance = { instance_type: 'a.large', cpu: 2, memory_mib: 4_096 };
      await yard.store.launched(batch, [{ runner_id: runner, provider_id, ...instance }], null);
      await yard.store.register({ runner_id: runner, batch_id: null, provider_id, address: null });
      const request = await yard.ask();
      const { grant, answers } = await yard.store.claim(request, ['i-0123456789abcdef1', provider_id]);
      assert.deepEqual(answers, ['gone', 'claimed']);
      assert.deepEqual(
        grant?.runners.map(({ id }) => id),
        [runner],
      );
    },
  },
  {
    name: 'requests are served in queue order',
    async run(yard) {
      await yard.arrive();
      await yard.arrive();
      const ids = [await yard.ask(), await yard.ask(), await yard.ask()];
      const grants = await yard.store.claimIdle(10, ids.toReversed());
      assert.deepEqual(
        grants.map(({ request_id }) => request_id),
        ids.slice(0, 2),
      );
    },
  },
  {
    name: 'only the given requests are served, up to the limit',
    async run(yard) {
      for (let count = 0; count < 3; count += 1) await yard.arrive();
      const ids = [await yard.ask(), await yard.ask(), await yard.ask()];
      const [chosen] = await yard.store.claimIdle(10, [ids[2]!]);
      assert.equal(chosen?.request_id, ids[2]);
      const [next, ...others] = await yard.store.claimIdle(1);
      assert.equal(next?.request_id, ids[0]);
      assert.deepEqual(others, []);
    },
  },
  {
    name: 'the runner that became idle last is claimed first',
    async run(yard) {
      const [, , newest] = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
      await yard.ask();
      const [grant] = await yard.store.claimIdle(1);
      assert.deepEqual(
        grant?.runners.map(({ id }) => id),
        [newest],
      );
    },
  },
  {
    name: 'a runner is granted only to requests that it fits',
    async run(yard) {
      const runner = await yard.arrive({ type: 'm7i.large' });
      const strangers = [
        await yard.ask({ types: ['c7*'] }),
        await yard.ask({ usage_class: 'spot' }),
        await yard.ask({ resource_class: 'xlarge' }),
        await yard.ask({ cpu: 4 }),
        await yard.ask({ memory_mib: 8_192 }),
      ];
      assert.deepEqual(await yard.store.claimIdle(10, strangers), []);
      const fitting = await yard.ask({ types: ['C7*', 'M7I.*'] });
      const [grant] = await yard.store.claimIdle(10);
      assert.equal(grant?.request_id, fitting);
      assert.deepEqual(await yard.holdersOf(fitting), [runner]);
    },
  },
  {
    name: 'a runner that does not match its class is not granted',
    async run(yard) {
      const batch = yard.newId();
      const [odd] = await yard.plan(1, { id: batch });
      await yard.store.launched(batch, [{ ...yard.launchedAs(odd!), cpu: 3 }], null);
      await yard.register(odd!);
      await yard.ask();
      assert.deepEqual(await yard.store.claimIdle(10), []);
    },
  },
  {
    name: 'a gang gets all or none',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const gang = await yard.ask({ count: 3 });
      assert.deepEqual(await yard.store.claimIdle(10), []);
      assert.deepEqual(await yard.holdersOf(gang), []);
      await yard.store.withdraw([gang], 'too many');
      const pair = await yard.ask({ count: 2 });
      const [grant] = await yard.store.claimIdle(10);
      assert.equal(grant?.request_id, pair);
      assert.deepEqual(grant.runners.map(({ id }) => id).sort(), runners);
      assert.ok(grant.runners.every(({ number }) => number >= 2));
      assert.equal(new Set(grant.runners.map(({ number }) => number)).size, 2);
    },
  },
  {
    name: 'single requests overtake a gang until its patience ends',
    async run(yard) {
      const runner = await yard.arrive();
      const gang = await yard.ask({ count: 2 });
      yard.pass(SECOND);
      const early = await yard.ask();
      const [grant] = await yard.store.claimIdle(10);
      assert.equal(grant?.request_id, early);
      await yard.store.release(runner, grant.runners[0]!.epoch);
      yard.pass(TIMES.reserve_after_ms);
      await yard.beat(runner);
      const late = await yard.ask();
      assert.deepEqual(await yard.store.claimIdle(10), []);
      assert.equal((await yard.request(late)).state, 'waiting');
      const second = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(gang), [runner, second].sort());
      assert.equal((await yard.request(late)).state, 'waiting');
    },
  },
  {
    name: 'a gang holds back only requests for the same types',
    async run(yard) {
      const wanted = await yard.arrive({ type: 'a.large' });
      const other = await yard.arrive({ type: 'b.large' });
      await yard.ask({ count: 2, types: ['a.*'] });
      await yard.live(TIMES.reserve_after_ms + SECOND, wanted, other);
      const elsewhere = await yard.ask({ types: ['b.*'] });
      const either = await yard.ask();
      const grants = await yard.store.claimIdle(10);
      assert.deepEqual(
        grants.map(({ request_id }) => request_id),
        [elsewhere],
      );
      assert.equal((await yard.request(either)).state, 'waiting');
    },
  },
  {
    name: 'a runner without a recent heartbeat is not claimed before its next one',
    async run(yard) {
      const runner = await yard.arrive();
      yard.pass(TIMES.heartbeat_max_age_ms + 1);
      const id = await yard.ask();
      assert.deepEqual(await yard.store.claimIdle(10), []);
      assert.deepEqual(await yard.store.claim(id, [runner]), { grant: null, answers: ['silent'] });
      await yard.beat(runner);
      assert.equal((await yard.store.claimIdle(10)).length, 1);
    },
  },
  {
    name: 'an expired runner is not claimed',
    async run(yard) {
      const runner = await yard.arrive();
      await yard.live(TIMES.idle_ms, runner);
      const id = await yard.ask();
      assert.deepEqual(await yard.store.claimIdle(10), []);
      assert.deepEqual(await yard.store.claim(id, [runner]), { grant: null, answers: ['gone'] });
    },
  },
  {
    name: 'by ID: granted, then the runner is gone and the request settled',
    async run(yard) {
      const [one, other] = [await yard.arrive(), await yard.arrive()];
      const [first, second] = [await yard.ask(), await yard.ask()];
      const { grant, answers } = await yard.store.claim(first, [one]);
      assert.deepEqual(answers, ['claimed']);
      assert.deepEqual(
        grant?.runners.map(({ id }) => id),
        [one],
      );
      assert.deepEqual(await yard.store.claim(second, [one]), { grant: null, answers: ['gone'] });
      assert.deepEqual(await yard.store.claim(first, [other]), { grant: null, answers: ['settled'] });
      assert.deepEqual(await yard.store.claim(yard.newId(), [other]), { grant: null, answers: ['settled'] });
      assert.equal(await yard.stateOf(other), 'idle');
    },
  },
  {
    name: 'by ID: unknown, created and ended runners are gone',
    async run(yard) {
      const created = await yard.launch();
      const ended = await yard.arrive();
      await yard.store.terminate([ended], 'terminated by a user');
      const id = await yard.ask();
      for (const runner of [yard.newId(), created, ended]) {
        assert.deepEqual(await yard.store.claim(id, [runner]), { grant: null, answers: ['gone'] });
      }
    },
  },
  {
    name: 'by ID: a gang gets all or none',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const pair = await yard.ask({ count: 2 });
      const { grant, answers } = await yard.store.claim(pair, [runners[0]!, yard.newId()]);
      assert.equal(grant, null);
      assert.equal(answers.length, 2);
      assert.equal(answers[1], 'gone');
      assert.equal(await yard.stateOf(runners[0]!), 'idle');
      const whole = await yard.store.claim(pair, runners);
      assert.deepEqual(whole.answers, ['claimed', 'claimed']);
      assert.deepEqual(whole.grant?.runners.map(({ id }) => id).sort(), runners);
    },
  },
  {
    name: 'by ID: single requests overtake a gang until its patience ends, and then only for other types',
    async run(yard) {
      const wanted = await yard.arrive({ type: 'm7i.large' });
      const other = await yard.arrive({ type: 'c7i.large' });
      const gang = await yard.ask({ count: 2, types: ['m7i*'] });
      yard.pass(SECOND);
      const early = await yard.ask();
      const { grant } = await yard.store.claim(early, [wanted]);
      await yard.store.release(wanted, grant!.runners[0]!.epoch);
      yard.pass(TIMES.reserve_after_ms);
      await yard.beat(wanted);
      await yard.beat(other);
      const late = await yard.ask();
      assert.deepEqual(await yard.store.claim(late, [wanted]), { grant: null, answers: ['barred'] });
      const { answers } = await yard.store.claim(late, [wanted, other]);
      assert.deepEqual(answers, ['barred', 'claimed']);
      const second = await yard.arrive({ type: 'm7i.large' });
      assert.deepEqual(await yard.holdersOf(gang), [wanted, second].sort());
    },
  },
  {
    name: 'every claim increments the epoch',
    async run(yard) {
      const runner = await yard.arrive();
      const epochs: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        await yard.ask();
        const [grant] = await yard.store.claimIdle(1);
        epochs.push(grant!.runners[0]!.epoch);
        await yard.store.release(runner, grant!.runners[0]!.epoch);
      }
      assert.deepEqual(epochs, [epochs[0], epochs[0]! + 1, epochs[0]! + 2]);
    },
  },
];
