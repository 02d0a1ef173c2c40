/** Conformance suite for pool backends, run by the test file of each backend. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { PickupPolicy } from '../../../../src/pool/pickup/policy.ts';
import type { PoolBackend, Served } from '../../../../src/pool/port/backend.ts';
import type { RunnerRequest, RunnerStore } from '../../../../src/pool/port/store.ts';
import { SECOND, TIMES, Yard, type RequestWords } from '../store/fixture.ts';

/** A backend and its world. */
export interface OpenedBackend {
  readonly backend: PoolBackend;
  /** Another process with the same store and queues. */
  readonly other: PoolBackend;
  readonly store: RunnerStore;
  readonly moment: { now: number };
  /** Advances the clock of store, queues and backends. */
  pass(ms: number): Promise<void>;
  /** Awaits work that may wait for time to pass. */
  settle<T>(promise: Promise<T>): Promise<T>;
}

export type OpenBackend = (numbers: Partial<PickupPolicy>) => Promise<OpenedBackend>;

class Bench extends Yard {
  readonly opened: OpenedBackend;

  constructor(opened: OpenedBackend) {
    super(opened.store, opened.moment);
    this.opened = opened;
  }

  /** Offers all idle runners to the backend. */
  async offerIdle(): Promise<void> {
    await this.opened.backend.offer(await this.store.unoffered(1_000, this.now + SECOND));
  }

  /** Advances the clock while these runners send heartbeats. */
  async wait(runners: readonly string[]): Promise<void> {
    await this.opened.pass(3 * SECOND);
    await this.beat(...runners);
  }

  async requests(ids: readonly string[]): Promise<RunnerRequest[]> {
    return await Promise.all(ids.map((id) => this.request(id)));
  }

  async serve(ids: readonly string[], backend = this.opened.backend): Promise<Served[]> {
    return await this.opened.settle(backend.serve(await this.requests(ids)));
  }

  async askMany(count: number, overrides: RequestWords = {}): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push(await this.ask(overrides));
    return ids;
  }

  /** Serves one request, which must get nothing, and returns why. */
  async failToServe(overrides: RequestWords): Promise<Served['exhaustion']> {
    const id = await this.ask(overrides);
    const [served, ...others] = await this.serve([id]);
    assert.deepEqual(others, []);
    assert.equal(served?.request_id, id);
    assert.equal(served.grant, null);
    assert.equal((await this.request(id)).state, 'waiting');
    await this.store.withdraw([id], 'over');
    return served.exhaustion;
  }
}

/** @param concurrency number of concurrent cases, limited by what the worlds of `open` share */
export function backendSuite(name: string, open: OpenBackend, concurrency = 4): void {
  describe(`the backend ${name}`, { concurrency }, () => {
    const bench = async (numbers: Partial<PickupPolicy> = {}): Promise<Bench> => new Bench(await open(numbers));
    grants(bench);
    exhaustions(bench);
    gangs(bench);
    lies(bench);
    crowds(bench);
  });
}

type Open = (numbers?: Partial<PickupPolicy>) => Promise<Bench>;

function grants(open: Open): void {
  test('grants an idle runner to a request that it fits', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    await bench.offerIdle();
    const id = await bench.ask();
    const [served] = await bench.serve([id]);
    assert.equal(served?.request_id, id);
    assert.equal(served.exhaustion, null);
    assert.deepEqual(
      served.grant?.runners.map((granted) => granted.id),
      [runner],
    );
    const { state, epoch, request_id } = await bench.runner(runner);
    assert.deepEqual({ state, request_id }, { state: 'claimed', request_id: id });
    assert.equal(served.grant.runners[0]?.epoch, epoch);
    assert.deepEqual(await bench.holdersOf(id), [runner]);
  });

  test('returns nothing for no requests', async () => {
    const bench = await open();
    assert.deepEqual(await bench.serve([]), []);
  });

  test('answers each request once', async () => {
    const bench = await open();
    await bench.arrive();
    await bench.offerIdle();
    const ids = [await bench.ask(), await bench.ask({ types: ['none'] }), await bench.ask({ usage_class: 'spot' })];
    const served = await bench.serve(ids);
    assert.deepEqual(
      served.map(({ request_id }) => request_id),
      ids,
    );
    assert.ok(served.every(({ grant, exhaustion }) => (grant === null) !== (exhaustion === null)));
  });

  test('serves requests in the given order', async () => {
    const bench = await open({ width: 1 });
    await bench.arrive();
    await bench.arrive();
    await bench.offerIdle();
    const ids = await bench.askMany(3);
    const served = await bench.serve(ids);
    assert.deepEqual(
      served.map(({ grant }) => grant !== null),
      [true, true, false],
    );
  });

  test('grants a released runner again, with a new epoch', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    const epochs: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      await bench.offerIdle();
      const [served] = await bench.serve([await bench.ask()]);
      const [granted] = served?.grant?.runners ?? [];
      assert.equal(granted?.id, runner);
      epochs.push(granted.epoch);
      assert.equal(await bench.store.confirm(runner, granted.epoch), true);
      assert.equal(await bench.store.release(runner, granted.epoch), true);
    }
    assert.deepEqual(epochs, [epochs[0]!, epochs[0]! + 1, epochs[0]! + 2]);
  });

  test('grants nothing to a request that has ended', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    await bench.offerIdle();
    const id = await bench.ask();
    const requests = await bench.requests([id]);
    await bench.store.withdraw([id], 'over');
    const [served] = await bench.opened.settle(bench.opened.backend.serve(requests));
    assert.equal(served?.grant, null);
    assert.equal(await bench.stateOf(runner), 'idle');
    const [next] = await bench.serve([await bench.ask()]);
    assert.equal(next?.grant?.runners[0]?.id, runner);
  });
}

function exhaustions(open: Open): void {
  test('finds an empty pool globally exhausted', async () => {
    const bench = await open();
    assert.equal(await bench.failToServe({}), 'global');
  });

  test('finds a class without idle runners globally exhausted, even if other classes have some', async () => {
    const bench = await open();
    await bench.arrive({ resource_class: 'xlarge' });
    await bench.offerIdle();
    assert.equal(await bench.failToServe({}), 'global');
  });

  test('finds a pool globally exhausted after its last runner was granted', async () => {
    const bench = await open({ width: 1 });
    await bench.arrive();
    await bench.offerIdle();
    const served = await bench.serve(await bench.askMany(2));
    assert.deepEqual(
      served.map(({ exhaustion }) => exhaustion),
      [null, 'global'],
    );
  });

  const strangers: readonly [string, RequestWords][] = [
    ['types that it does not allow', { types: ['b.*', 'a.larger'] }],
    ['another usage', { usage_class: 'spot' }],
    ['too little memory', { memory_mib: 8_192 }],
  ];
  for (const [what, overrides] of strangers) {
    test(`finds a pool of ${what} locally exhausted, and leaves them to others`, async () => {
      const bench = await open();
      const runner = await bench.arrive({ type: 'a.large' });
      await bench.offerIdle();
      assert.equal(await bench.failToServe(overrides), 'local');
      assert.equal(await bench.stateOf(runner), 'idle');
      await bench.opened.pass(3 * SECOND);
      const [served] = await bench.serve([await bench.ask({ types: ['A.*'] })]);
      assert.equal(served?.grant?.runners[0]?.id, runner);
    });
  }
}

function gangs(open: Open): void {
  test('grants a gang all or none', async () => {
    const bench = await open();
    const runners = [await bench.arrive(), await bench.arrive({ type: 'b.large' })];
    await bench.offerIdle();
    assert.equal(await bench.failToServe({ count: 3 }), 'local');
    for (const runner of runners) assert.equal(await bench.stateOf(runner), 'idle');
    const pair = await bench.ask({ count: 2 });
    const [served] = await bench.serve([pair]);
    assert.deepEqual(served?.grant?.runners.map(({ id }) => id).sort(), runners.sort());
    assert.deepEqual(await bench.holdersOf(pair), runners);
  });

  test('grants a large number at once', async () => {
    const bench = await open();
    for (let at = 0; at < 25; at += 1) await bench.arrive({ type: at % 2 === 0 ? 'a.large' : 'b.large' });
    await bench.offerIdle();
    const [served] = await bench.serve([await bench.ask({ count: 25 })]);
    assert.equal(new Set(served?.grant?.runners.map(({ id }) => id)).size, 25);
  });

  test('leaves runners that are too few for a gang to a later request', async () => {
    const bench = await open({ width: 1 });
    const runner = await bench.arrive();
    await bench.offerIdle();
    const ids = [await bench.ask({ count: 2 }), await bench.ask()];
    const served = await bench.serve(ids);
    assert.equal(served[0]?.grant, null);
    assert.equal(served[1]?.grant?.runners[0]?.id, runner);
  });
}

function lies(open: Open): void {
  test('skips a runner that has ended, even if it was offered', async () => {
    const bench = await open();
    const [ended, idle] = [await bench.arrive(), await bench.arrive()];
    await bench.offerIdle();
    await bench.store.terminate([ended], 'terminated by a user');
    const served = await bench.serve(await bench.askMany(2));
    const granted = served.flatMap(({ grant }) => grant?.runners.map(({ id }) => id) ?? []);
    assert.deepEqual(granted, [idle]);
  });

  test('grants a runner once, however often it was offered', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    for (let times = 0; times < 4; times += 1) await bench.offerIdle();
    const ids = await bench.askMany(4);
    const served = await bench.serve(ids);
    const granted = served.flatMap(({ grant }) => grant?.runners.map(({ id }) => id) ?? []);
    assert.deepEqual(granted, [runner]);
  });

  test('grants no silent runner, and grants it again after a heartbeat', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    await bench.offerIdle();
    await bench.opened.pass(TIMES.heartbeat_max_age_ms + SECOND);
    await bench.failToServe({});
    await bench.beat(runner);
    await bench.offerIdle();
    const [served] = await bench.serve([await bench.ask()]);
    assert.equal(served?.grant?.runners[0]?.id, runner);
  });

  test('grants no draining runner', async () => {
    const bench = await open();
    const runner = await bench.arrive();
    await bench.offerIdle();
    await bench.store.drain([runner], 'drained');
    await bench.failToServe({});
  });
}

/**
 * Backends that search message by message may need several rounds while concurrent searches hide messages from each
 * other.
 */
const ROUNDS_MAX = 60;
const ROUNDS_TOGETHER = 5;

function crowds(open: Open): void {
  test('grants every request of a burst a distinct runner of its type', async () => {
    const bench = await open();
    const types = ['a.large', 'b.large', 'c.large'];
    const runners: string[] = [];
    for (let at = 0; at < 15; at += 1) runners.push(await bench.arrive({ type: types[at % 3]! }));
    await bench.offerIdle();
    const ids: string[] = [];
    for (let at = 0; at < 15; at += 1) ids.push(await bench.ask({ types: [types[at % 3]!] }));
    const holders = new Map<string, string>();
    for (let round = 0; round < ROUNDS_MAX && holders.size < 15; round += 1) {
      if (round > 0) await bench.wait(runners);
      const served = new Set(holders.values());
      const left = ids.filter((id) => !served.has(id));
      // Concurrent searches may hide messages from each other forever; a single request finds its runner.
      const tried = round < ROUNDS_TOGETHER ? left : [left[round % left.length]!];
      for (const { request_id, grant } of await bench.serve(tried)) {
        for (const { id } of grant?.runners ?? []) {
          assert.ok(!holders.has(id), 'a runner was given twice');
          holders.set(id, request_id);
        }
      }
    }
    assert.equal(holders.size, 15);
  });

  test('serves from two processes without granting a runner twice', async () => {
    const bench = await open();
    const runners: string[] = [];
    for (let at = 0; at < 20; at += 1) runners.push(await bench.arrive());
    await bench.offerIdle();
    const ids = await bench.askMany(20);
    const both = [bench.opened.backend, bench.opened.other];
    let left = ids;
    for (let round = 0; round < ROUNDS_MAX && left.length > 0; round += 1) {
      if (round > 0) await bench.wait(runners);
      // Both processes try all waiting requests, so most are tried twice.
      await Promise.all(both.map((backend) => bench.serve(left, backend)));
      const states = await bench.requests(left);
      left = states.filter(({ state }) => state === 'waiting').map(({ id }) => id);
    }
    const holders = (await Promise.all(ids.map((id) => bench.holdersOf(id)))).flat();
    assert.equal(holders.length, 20);
    assert.equal(new Set(holders).size, 20);
  });

  test('counts its operations', async () => {
    const bench = await open();
    await bench.arrive();
    await bench.offerIdle();
    const { counts } = bench.opened.backend;
    const before = counts.operations;
    await bench.serve([await bench.ask()]);
    assert.ok(counts.operations > before);
    assert.equal(counts.picked, 1);
    assert.equal(counts.discarded, 0);
  });
}
