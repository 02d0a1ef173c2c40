import assert from 'node:assert/strict';

import { SECOND, TIMES, providerIdOf, type Case, type Yard } from './fixture.ts';

/** Calls of agents: registration, heartbeats, confirmation and release; draining and ending. */
export const SIGNAL_CASES: readonly Case[] = [
  {
    name: 'registration makes a runner idle, and repeating it changes nothing',
    async run(yard) {
      const id = await yard.launch({ type: 'a.large' });
      assert.equal(await yard.stateOf(id), 'created');
      const orders = await yard.register(id);
      const runner = await yard.runner(id);
      assert.equal(runner.state, 'idle');
      assert.equal(runner.threshold, yard.now + TIMES.idle_ms);
      assert.equal(runner.seen_at, yard.now);
      assert.deepEqual(orders, {
        runner_id: id,
        number: runner.number,
        state: 'idle',
        epoch: runner.epoch,
        request_id: null,
        task_id: null,
        ready: true,
        peers: [],
        threshold: runner.threshold,
        draining: false,
        now: yard.now,
      });
      assert.deepEqual(await yard.register(id), orders);
    },
  },
  {
    name: 'the registration of an unknown or ended runner is refused',
    async run(yard) {
      const id = await yard.launch();
      await yard.store.terminate([id], 'terminated by a user');
      assert.equal(await yard.register(id), null);
      assert.equal(await yard.register(yard.newId()), null);
      assert.equal(await yard.store.heartbeat(id), null);
      assert.equal(await yard.store.heartbeat(yard.newId()), null);
    },
  },
  {
    name: 'runners of a batch that register without an id each get a different one',
    async run(yard) {
      const batch = yard.newId();
      const ids = await yard.plan(2, { id: batch });
      await yard.store.launched(
        batch,
        ids.map((id) => yard.launchedAs(id)),
        null,
      );
      const say = (provider_id: string) =>
        yard.store.register({ runner_id: null, batch_id: batch, provider_id, address: 'host:1' });
      const registered = [await say(providerIdOf(ids[1]!)), await say(providerIdOf(ids[0]!))];
      assert.deepEqual(
        registered.map((orders) => orders?.runner_id),
        [ids[1], ids[0]],
      );
      assert.equal((await say(providerIdOf(ids[1]!)))?.runner_id, ids[1]);
      assert.equal(await say('i-stranger'), null);
      assert.equal((await yard.runner(ids[0]!)).address, 'host:1');
    },
  },
  {
    name: 'runners of a batch whose answer is not known yet get a place in it, as many as it has',
    async run(yard) {
      const batch = yard.newId();
      const ids = await yard.plan(2, { id: batch });
      const say = async (provider_id: string) =>
        (await yard.store.register({ runner_id: null, batch_id: batch, provider_id, address: null }))?.runner_id;
      const registered = [await say('i-one'), await say('i-two')];
      assert.deepEqual(registered.toSorted(), ids);
      assert.equal(await say('i-one'), registered[0]);
      assert.equal(await say('i-three'), undefined);
    },
  },
  {
    name: 'a runner that registers before its launch is recorded becomes available afterwards',
    async run(yard) {
      const batch = yard.newId();
      const [id] = await yard.plan(1, { id: batch });
      assert.equal((await yard.register(id!))?.state, 'created');
      const request = await yard.ask();
      await yard.store.launched(batch, [yard.launchedAs(id!)], null);
      const orders = await yard.store.heartbeat(id!);
      assert.ok(orders?.state === 'idle' || orders?.state === 'claimed', orders?.state);
      await yard.store.claimIdle(10);
      assert.deepEqual(await yard.holdersOf(request), [id]);
    },
  },
  {
    name: 'a heartbeat returns the request that the runner was claimed for',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const request = await yard.ask({ count: 2 });
      const [grant] = await yard.store.claimIdle(1);
      const orders = (await yard.store.heartbeat(runners[0]!))!;
      assert.deepEqual([orders.state, orders.request_id, orders.task_id], ['claimed', request, null]);
      assert.deepEqual(
        orders.peers.toSorted((one, other) => one.number - other.number),
        grant!.runners.toSorted((one, other) => one.number - other.number),
      );
    },
  },
  {
    name: 'each runner of a gang is ready when all others have confirmed',
    async run(yard) {
      await yard.arrive();
      await yard.arrive();
      await yard.ask({ source: 'task', run: yard.newId(), attempt: 1, count: 2 });
      const [grant] = await yard.store.claimIdle(1);
      const [one, other] = grant!.runners;
      const isReady = async ({ id }: { id: string }): Promise<boolean> => (await yard.store.heartbeat(id))!.ready;
      assert.deepEqual([await isReady(one!), await isReady(other!)], [false, false]);
      await yard.store.confirm(other!.id, other!.epoch);
      assert.deepEqual([await isReady(one!), await isReady(other!)], [true, false]);
      await yard.store.confirm(one!.id, one!.epoch);
      assert.deepEqual([await isReady(one!), await isReady(other!)], [true, true]);
    },
  },
  {
    name: 'only the first runner gets the task',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const task = yard.newId();
      await yard.ask({ source: 'task', run: task, attempt: 1, count: 2 });
      await yard.store.claimIdle(1);
      const orders = await Promise.all(runners.map((id) => yard.store.heartbeat(id)));
      const [first, second] = orders.toSorted((one, other) => one!.number - other!.number);
      assert.deepEqual([first?.task_id, second?.task_id], [task, null]);
    },
  },
  {
    name: 'a confirmed runner does not expire, and its use is counted once',
    async run(yard) {
      const id = await yard.arrive();
      await yard.ask();
      const [grant] = await yard.store.claimIdle(1);
      const { epoch } = grant!.runners[0]!;
      assert.equal(await yard.store.confirm(id, epoch), true);
      assert.equal(await yard.store.confirm(id, epoch), true);
      const { state, uses, threshold } = await yard.runner(id);
      assert.deepEqual({ state, uses }, { state: 'running', uses: 1 });
      assert.ok(threshold > yard.now + 365 * 24 * 3_600 * SECOND);
      await yard.live(2 * TIMES.claim_ms, id);
      assert.deepEqual((await yard.store.sweep(10, [])).ended, {});
    },
  },
  {
    name: 'signals with an older epoch are refused',
    async run(yard) {
      const id = await yard.arrive();
      await yard.ask();
      const [old] = await yard.store.claimIdle(1);
      await yard.store.release(id, old!.runners[0]!.epoch);
      const request = await yard.ask();
      await yard.store.claimIdle(1);
      assert.equal(await yard.store.confirm(id, old!.runners[0]!.epoch), false);
      assert.equal(await yard.store.release(id, old!.runners[0]!.epoch), false);
      assert.equal(await yard.stateOf(id), 'claimed');
      assert.deepEqual(await yard.holdersOf(request), [id]);
      assert.equal(await yard.store.confirm(yard.newId(), 1), false);
      assert.equal(await yard.store.release(yard.newId(), 1), false);
    },
  },
  {
    name: 'a released runner is idle with a new threshold, and releasing it again is harmless',
    async run(yard) {
      const { id, request } = await yard.running();
      const { epoch } = await yard.runner(id);
      await yard.live(TIMES.idle_ms, id);
      assert.equal(await yard.store.release(id, epoch), true);
      const runner = await yard.runner(id);
      assert.deepEqual([runner.state, runner.request_id], ['idle', null]);
      assert.equal(runner.threshold, yard.now + TIMES.idle_ms);
      assert.equal(runner.state_since, yard.now);
      assert.equal((await yard.request(request)).state, 'ended');
      yard.pass(SECOND);
      await yard.store.release(id, epoch);
      assert.deepEqual(await yard.runner(id), runner);
    },
  },
  {
    name: 'without an epoch, a runner is released in any epoch',
    async run(yard) {
      const { id } = await yard.running();
      assert.equal(await yard.store.release(id, null), true);
      assert.equal(await yard.stateOf(id), 'idle');
    },
  },
  {
    name: 'releasing one runner of a task frees all of them and ends the request',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const request = await yard.ask({ source: 'task', run: yard.newId(), attempt: 1, count: 2 });
      const [grant] = await yard.store.claimIdle(1);
      for (const { id, epoch } of grant!.runners) await yard.store.confirm(id, epoch);
      const first = grant!.runners.toSorted((one, other) => one.number - other.number)[0]!;
      await yard.store.release(first.id, first.epoch);
      assert.equal((await yard.request(request)).state, 'ended');
      for (const id of runners) assert.equal(await yard.stateOf(id), 'idle');
    },
  },
  {
    name: 'releasing one runner of a hold frees all of them and ends the hold',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive()];
      const request = await yard.ask({ count: 2 });
      const [grant] = await yard.store.claimIdle(1);
      const [one] = grant!.runners;
      await yard.store.release(one!.id, one!.epoch);
      assert.equal((await yard.request(request)).state, 'ended');
      for (const id of runners) assert.equal(await yard.stateOf(id), 'idle');
    },
  },
  {
    name: 'a used-up runner ends when it is released',
    settings: { max_uses: 2 },
    async run(yard) {
      const { id } = await yard.running();
      await yard.store.release(id, null);
      await yard.ask();
      const [grant] = await yard.store.claimIdle(1);
      await yard.store.confirm(id, grant!.runners[0]!.epoch);
      const waiting = await yard.ask();
      await yard.store.release(id, grant!.runners[0]!.epoch);
      const { state, reason } = await yard.runner(id);
      assert.deepEqual({ state, reason }, { state: 'terminated', reason: 'used up' });
      assert.equal((await yard.request(waiting)).state, 'waiting');
    },
  },
  {
    name: 'draining ends free runners at once, and the others when they are released',
    async run(yard) {
      const busy = await yard.running();
      const idle = await yard.arrive();
      const created = await yard.launch();
      assert.equal(await yard.store.drain([busy.id, idle, created, yard.newId()], 'drained'), 3);
      assert.equal(await yard.stateOf(idle), 'terminated');
      assert.equal(await yard.stateOf(created), 'terminated');
      const draining = await yard.runner(busy.id);
      assert.deepEqual([draining.state, draining.draining], ['running', true]);
      assert.equal((await yard.store.heartbeat(busy.id))?.draining, true);
      const waiting = await yard.ask();
      await yard.store.release(busy.id, draining.epoch);
      const { state, reason } = await yard.runner(busy.id);
      assert.deepEqual({ state, reason }, { state: 'terminated', reason: 'drained' });
      assert.equal((await yard.request(waiting)).state, 'waiting');
    },
  },
  {
    name: 'a claimed runner that is draining may still start',
    async run(yard) {
      const id = await yard.arrive();
      await yard.ask();
      const [grant] = await yard.store.claimIdle(1);
      await yard.store.drain([id], 'interrupted');
      assert.equal(await yard.store.confirm(id, grant!.runners[0]!.epoch), true);
      assert.equal(await yard.stateOf(id), 'running');
    },
  },
  {
    name: 'an ended runner stays ended, and its request waits at its old position',
    async run(yard) {
      const { id, request } = await yard.running();
      const { epoch } = await yard.runner(id);
      const later = await yard.ask();
      const { rank } = await yard.request(request);
      assert.equal(await yard.store.terminate([id, yard.newId()], 'terminated by a user'), 1);
      assert.equal(await yard.store.terminate([id], 'again'), 0);
      const { state, reason } = await yard.runner(id);
      assert.deepEqual({ state, reason }, { state: 'terminated', reason: 'terminated by a user' });
      assert.equal(await yard.store.confirm(id, epoch), false);
      assert.equal(await yard.store.release(id, epoch), false);
      const again = await yard.request(request);
      assert.deepEqual([again.state, again.rank, again.granted_at], ['waiting', rank, null]);
      const waiting = (await yard.store.waiting(10)).map((each) => each.id);
      assert.deepEqual(waiting, [request, later]);
    },
  },
  {
    name: 'a hold that loses a runner keeps the others and waits for a replacement',
    async run(yard) {
      const { runners, request, other } = await brokenHold(yard);
      const held = await yard.request(request);
      assert.deepEqual([held.state, held.kept, held.expires_at], ['waiting', 2, null]);
      assert.deepEqual(await yard.holdersOf(request), [runners[0], runners[2]]);
      assert.deepEqual(await yard.store.claimIdle(10), [], 'its remaining runners are not granted to others');
      assert.equal((await yard.request(other)).state, 'waiting');
      const [shortage] = await yard.store.shortages();
      assert.equal(shortage!.wanted, 1 + 2, 'one for the hold, two for who waits behind it');
      yard.pass(SECOND);
      const replacement = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(request), [runners[0], runners[2], replacement]);
      const whole = await yard.request(request);
      assert.deepEqual([whole.state, whole.kept], ['granted', 0]);
      assert.equal((await yard.store.heartbeat(replacement))!.peers.length, 3);
    },
  },
  {
    name: 'a hold that loses several runners keeps the rest, and is granted as a whole again',
    async run(yard) {
      const { runners, request } = await brokenHold(yard);
      await yard.store.terminate([runners[0]!], 'lost');
      assert.equal((await yard.request(request)).kept, 1);
      await yard.arrive();
      assert.equal((await yard.request(request)).state, 'waiting', 'it lacks two, and gets both at once');
      await yard.arrive();
      const [grant] = await yard.store.claimIdle(10);
      assert.equal((grant?.runners ?? (await yard.request(request)).runners).length, 3);
      await yard.store.terminate(await yard.holdersOf(request), 'terminated by a user');
      const empty = await yard.request(request);
      assert.deepEqual([empty.state, empty.kept, empty.runners], ['waiting', 0, []]);
    },
  },
  {
    name: 'a hold released while it waits for a lost runner frees the runners that it kept',
    async run(yard) {
      const { runners, request, other } = await brokenHold(yard);
      await yard.store.withdraw([request], 'released by its holder');
      assert.deepEqual([(await yard.request(request)).state, (await yard.request(request)).kept], ['ended', 0]);
      assert.deepEqual(await yard.holdersOf(other), [runners[0], runners[2]]);
    },
  },
  {
    name: 'when a task that has not started loses one of several runners, the others are released',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
      const request = await yard.ask({ count: 3, source: 'task', run: yard.newId(), attempt: 1 });
      const [grant] = await yard.store.claimIdle(1);
      for (const { id, epoch } of grant!.runners) await yard.store.confirm(id, epoch);
      await yard.store.terminate([runners[1]!], 'lost');
      assert.equal((await yard.request(request)).state, 'waiting');
      assert.deepEqual(await Promise.all(runners.map((id) => yard.stateOf(id))), ['idle', 'terminated', 'idle']);
      const replacement = await yard.arrive();
      assert.deepEqual(await yard.holdersOf(request), [runners[0], runners[2], replacement]);
    },
  },
];

/** A hold of three that has lost the second, and a hold of two that waits behind it. */
async function brokenHold(yard: Yard): Promise<{ runners: string[]; request: string; other: string }> {
  const runners = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
  const request = await yard.ask({ count: 3, expires_at: yard.now + 60 * SECOND });
  const [grant] = await yard.store.claimIdle(1);
  for (const { id, epoch } of grant!.runners) await yard.store.confirm(id, epoch);
  const other = await yard.ask({ count: 2 });
  await yard.store.terminate([runners[1]!], 'lost');
  return { runners, request, other };
}
