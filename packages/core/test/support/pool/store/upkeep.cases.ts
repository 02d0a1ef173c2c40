import assert from 'node:assert/strict';

import { SECOND, TIMES, type Case, type Yard } from './fixture.ts';

async function ended(yard: Yard, limit = 100): Promise<Readonly<Record<string, number>>> {
  return (await yard.store.sweep(limit, [])).ended;
}

/** Ends by timeout, by reason. */
export const SWEEP_CASES: readonly Case[] = [
  {
    name: 'no runner is ended before its timeout',
    async run(yard) {
      await yard.plan();
      await yard.launch();
      await yard.arrive();
      await yard.ask();
      await yard.store.claimIdle(1);
      await yard.arrive();
      const swept = await yard.store.sweep(100, []);
      assert.deepEqual(swept, { ended: {}, requeued: 0, expired: 0, released: 0 });
    },
  },
  {
    name: 'an unconfirmed claim ends the runner, and its request waits at its old position',
    async run(yard) {
      const id = await yard.arrive();
      const request = await yard.ask();
      await yard.store.claimIdle(1);
      const { rank } = await yard.request(request);
      await yard.ask();
      await yard.live(TIMES.confirm_ms, id);
      const swept = await yard.store.sweep(100, []);
      assert.deepEqual([swept.ended, swept.requeued], [{ unconfirmed: 1 }, 1]);
      const again = await yard.request(request);
      assert.deepEqual([again.state, again.rank], ['waiting', rank]);
      assert.equal((await yard.store.waiting(1))[0]?.id, request);
      assert.equal(await yard.store.heartbeat(id), null);
    },
  },
  {
    name: 'planned runners that are never launched end, and so do launched ones that never register',
    async run(yard) {
      const [planned] = await yard.plan();
      const silent = await yard.launch();
      yard.pass(TIMES.register_ms);
      assert.deepEqual(await ended(yard), { 'never registered': 1 });
      assert.equal(await yard.stateOf(silent), 'terminated');
      yard.pass(TIMES.created_ms - TIMES.register_ms);
      assert.deepEqual(await ended(yard), { 'never launched': 1 });
      assert.equal(await yard.stateOf(planned!), 'terminated');
      assert.deepEqual(await ended(yard), {});
    },
  },
  {
    name: 'an idle runner that is not claimed in time ends',
    async run(yard) {
      const id = await yard.arrive();
      await yard.live(TIMES.idle_ms, id);
      assert.deepEqual(await ended(yard), { 'idle too long': 1 });
      assert.equal((await yard.runner(id)).reason, 'idle too long');
    },
  },
  {
    name: 'the minimum of idle runners stays and can be claimed',
    async run(yard) {
      const runners = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
      const spot = await yard.arrive({ usage: 'spot' });
      await yard.live(TIMES.idle_ms, ...runners, spot);
      const keep = [{ resource_class: 'large', usage_class: 'on-demand', count: 2 }];
      assert.deepEqual((await yard.store.sweep(100, keep)).ended, { 'idle too long': 2 });
      assert.equal(await yard.stateOf(spot), 'terminated');
      const left = (await yard.store.list({ state: 'idle' }, { offset: 0, limit: 10 })).map(({ id }) => id);
      assert.equal(left.length, 2);
      assert.deepEqual((await yard.store.sweep(100, keep)).ended, {});
      await yard.ask({ count: 2 });
      assert.equal((await yard.store.claimIdle(1)).length, 1);
    },
  },
  {
    name: 'runners before their timeout count towards the minimum',
    async run(yard) {
      const old = await yard.arrive();
      await yard.live(TIMES.idle_ms, old);
      const young = await yard.arrive();
      const keep = [{ resource_class: 'large', usage_class: 'on-demand', count: 1 }];
      assert.deepEqual((await yard.store.sweep(100, keep)).ended, { 'idle too long': 1 });
      assert.equal(await yard.stateOf(young), 'idle');
    },
  },
  {
    name: 'a silent runner is lost at the second check, not the first',
    async run(yard) {
      const { id, request } = await yard.running();
      yard.pass(TIMES.heartbeat_timeout_ms + 1);
      assert.deepEqual(await ended(yard), {});
      yard.pass(TIMES.recheck_ms - 1);
      assert.deepEqual(await ended(yard), {});
      yard.pass(1);
      const swept = await yard.store.sweep(100, []);
      assert.deepEqual(swept.ended, { lost: 1 });
      assert.equal(await yard.stateOf(id), 'terminated');
      assert.equal((await yard.request(request)).state, 'waiting');
    },
  },
  {
    name: 'a heartbeat between two checks clears the suspicion',
    async run(yard) {
      const { id } = await yard.running();
      yard.pass(TIMES.heartbeat_timeout_ms + 1);
      await yard.store.sweep(100, []);
      await yard.beat(id);
      yard.pass(TIMES.recheck_ms + TIMES.heartbeat_timeout_ms);
      assert.deepEqual(await ended(yard), {});
      assert.equal(await yard.stateOf(id), 'running');
      yard.pass(TIMES.recheck_ms);
      assert.deepEqual(await ended(yard), { lost: 1 });
    },
  },
  {
    name: 'at most the limit is handled, and the rest in the next sweep',
    async run(yard) {
      for (let count = 0; count < 5; count += 1) await yard.launch();
      yard.pass(TIMES.register_ms);
      const counts: number[] = [];
      for (let round = 0; round < 4; round += 1) counts.push((await ended(yard, 2))['never registered'] ?? 0);
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        5,
      );
      assert.ok(counts.every((count) => count <= 2));
    },
  },
  {
    name: 'if one claim of a hold is not confirmed, the hold keeps the others',
    async run(yard) {
      const [one, other] = [await yard.arrive(), await yard.arrive()];
      const request = await yard.ask({ count: 2 });
      const [grant] = await yard.store.claimIdle(1);
      await yard.store.confirm(one, grant!.runners.find(({ id }) => id === one)!.epoch);
      await yard.live(TIMES.confirm_ms, one, other);
      assert.deepEqual(await ended(yard), { unconfirmed: 1 });
      assert.deepEqual([await yard.stateOf(one), await yard.stateOf(other)], ['running', 'terminated']);
      const { state, kept } = await yard.request(request);
      assert.deepEqual([state, kept], ['waiting', 1]);
    },
  },
];

/** Ends of every kind and cause. */
export const END_CASES: readonly Case[] = [
  {
    name: 'every end is counted once, by its kind',
    settings: { max_uses: 1 },
    async run(yard) {
      assert.deepEqual(await yard.store.countEnded(100), {});
      const used = await yard.running();
      await yard.store.release(used.id, null);
      await yard.store.drain([await yard.arrive()], 'drained');
      await yard.store.terminate([await yard.arrive()], 'terminated by a user');
      await yard.store.terminate([await yard.arrive()], 'its process ended (signal SIGKILL)');
      await yard.store.terminate([await yard.arrive()], 'a reason that only this end has');
      const failed = yard.newId();
      await yard.plan(2, { id: failed });
      await yard.store.launchFailed(failed, 'InsufficientInstanceCapacity: none in eu-central-1', null);
      const [idle, silent] = [await yard.arrive(), await yard.launch()];
      const first = await yard.store.countEnded(3);
      assert.equal(
        Object.values(first).reduce((sum, count) => sum + count, 0),
        3,
      );
      await yard.live(TIMES.idle_ms, idle);
      await yard.store.sweep(100, []);
      const counted: Record<string, number> = {};
      for (const ended of [await yard.store.countEnded(100), await yard.store.countEnded(100)])
        for (const [kind, count] of Object.entries(ended)) counted[kind] = (counted[kind] ?? 0) + count;
      assert.equal(await yard.stateOf(silent), 'terminated');
      const all = (await yard.store.list({ state: 'terminated' }, { offset: 0, limit: 100 })).length;
      assert.equal(
        Object.values(counted).reduce((sum, count) => sum + count, 0),
        all - 3,
      );
      assert.deepEqual([counted['idle too long'], counted['never registered']], [1, 1]);
    },
  },
  {
    name: 'an end has one of a few kinds, whatever the details of its reason',
    async run(yard) {
      await yard.store.terminate([await yard.arrive()], 'its process ended (signal SIGKILL)');
      await yard.store.terminate([await yard.arrive()], 'a reason that only this end has');
      const failed = yard.newId();
      await yard.plan(2, { id: failed });
      await yard.store.launchFailed(failed, 'InsufficientInstanceCapacity: none in eu-central-1', null);
      assert.deepEqual(await yard.store.countEnded(100), { 'its process ended': 1, other: 1, 'launch failed': 2 });
      assert.deepEqual(await yard.store.countEnded(100), {});
    },
  },
];

/** Census, offers and deletion. */
export const VIEW_CASES: readonly Case[] = [
  {
    name: 'an idle runner is offered once, and again when it becomes idle again or was not offered for long',
    async run(yard) {
      const { id } = await yard.running({ type: 'b.large' });
      assert.deepEqual(await yard.store.unoffered(10, yard.now - TIMES.recheck_ms), []);
      await yard.store.release(id, null);
      const { threshold } = await yard.runner(id);
      const message = {
        ...{ id, resource_class: 'large', usage_class: 'on-demand', instance_type: 'b.large' },
        ...{ cpu: 2, memory_mib: 4_096, threshold },
      };
      assert.deepEqual(await yard.store.unoffered(10, yard.now - TIMES.recheck_ms), [message]);
      assert.deepEqual(await yard.store.unoffered(10, yard.now - TIMES.recheck_ms), []);
      await yard.live(TIMES.recheck_ms, id);
      assert.deepEqual(await yard.store.unoffered(10, yard.now - SECOND), [message]);
      await yard.ask();
      await yard.store.claimIdle(1);
      await yard.store.release(id, null);
      assert.equal((await yard.store.unoffered(10, yard.now - TIMES.recheck_ms)).length, 1);
    },
  },
  {
    name: 'at most the requested number is offered',
    async run(yard) {
      const ids = [await yard.arrive(), await yard.arrive(), await yard.arrive()];
      const first = await yard.store.unoffered(2, 0);
      const rest = await yard.store.unoffered(2, 0);
      assert.equal(first.length, 2);
      assert.deepEqual([...first, ...rest].map(({ id }) => id).sort(), ids);
    },
  },
  {
    name: 'the census counts by class and usage class',
    async run(yard) {
      await yard.running();
      await yard.arrive();
      await yard.ask();
      await yard.store.claimIdle(1);
      await yard.arrive();
      await yard.launch();
      await yard.plan(2, { usage: 'spot' });
      await yard.ask({ usage_class: 'spot', count: 3 });
      const census = await yard.store.census();
      const counted = census.filter(({ resource_class: name }) => name === 'large');
      assert.deepEqual(
        counted.toSorted((one, other) => one.usage_class.localeCompare(other.usage_class)),
        [
          {
            ...{ resource_class: 'large', usage_class: 'on-demand' },
            ...{ created: 1, idle: 1, claimed: 1, running: 1, waiting: 0 },
          },
          {
            ...{ resource_class: 'large', usage_class: 'spot' },
            ...{ created: 2, idle: 0, claimed: 0, running: 0, waiting: 3 },
          },
        ],
      );
    },
  },
  {
    name: 'runners are listed by state and class, page by page',
    async run(yard) {
      const idle = [await yard.arrive(), await yard.arrive({ resource_class: 'xlarge' })];
      const created = await yard.launch();
      const ids = async (...args: Parameters<Yard['store']['list']>) =>
        (await yard.store.list(...args)).map(({ id }) => id).sort();
      const page = { offset: 0, limit: 10 };
      assert.deepEqual(await ids({}, page), [...idle, created].sort());
      assert.deepEqual(await ids({ state: 'idle' }, page), idle);
      assert.deepEqual(await ids({ state: 'idle', resource_class: 'xlarge' }, page), [idle[1]]);
      const pages = [await ids({}, { offset: 0, limit: 2 }), await ids({}, { offset: 2, limit: 2 })];
      assert.deepEqual(pages.map(({ length }) => length).join(), '2,1');
      assert.deepEqual(pages.flat().sort(), [...idle, created].sort());
    },
  },
  {
    name: 'old rows are deleted, rows in use are not',
    async run(yard) {
      const { id: gone, request } = await yard.running();
      await yard.store.withdraw([request], 'over');
      await yard.store.terminate([gone], 'terminated by a user');
      await yard.store.gone([gone]);
      const { id: busy, request: open } = await yard.running();
      await yard.live(10 * SECOND, busy);
      const before = yard.now;
      assert.equal(await yard.store.forget(before - 60 * SECOND, 100), 0);
      let removed = 0;
      for (let round = 0; round < 10; round += 1) removed += await yard.store.forget(before, 100);
      assert.ok(removed >= 2, `${removed}`);
      const left = (await yard.store.list({}, { offset: 0, limit: 10 })).map(({ id }) => id);
      assert.deepEqual(left, [busy]);
      assert.equal(await yard.store.request(request), null);
      assert.equal((await yard.request(open)).state, 'granted');
    },
  },
];
