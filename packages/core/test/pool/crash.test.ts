import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PostgresBackend } from '../../src/pool/backends/postgres.ts';
import type { PoolContext } from '../../src/pool/context.ts';
import type { HoldOptions } from '../../src/pool/pool-port.ts';
import { demandOf, Scene, SECOND } from '../support/pool/scene.ts';
import { TIMES } from '../support/pool/store/fixture.ts';

const HOLDS: readonly { readonly id: string; readonly count: number }[] = [
  { id: '018bcfe5-6800-7000-8000-00000000aa01', count: 1 },
  { id: '018bcfe5-6800-7000-8000-00000000aa02', count: 3 },
  { id: '018bcfe5-6800-7000-8000-00000000aa03', count: 1 },
];
const RUNNERS = 5;

type Where = 'before' | 'after';

/** The calls of one process to its ports; the process dies at one of them. */
class Mortal {
  calls = 0;
  readonly names: string[] = [];
  readonly #last: number;
  readonly #where: Where;

  constructor(last: number, where: Where) {
    this.#last = last;
    this.#where = where;
  }

  get isDead(): boolean {
    return this.calls >= this.#last;
  }

  /** Wraps a port so that its methods never return once the process is dead. */
  of<T extends object>(port: T, name: string): T {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        const method = value as (...args: unknown[]) => unknown;
        // A listing is fetched page by page; it never ends once the process is dead.
        if (key === 'list' && name === 'provider') return (...args: unknown[]) => method.apply(target, args);
        return (...args: unknown[]) => this.#call(`${name}.${String(key)}`, () => method.apply(target, args));
      },
    });
  }

  async #call(name: string, work: () => unknown): Promise<unknown> {
    if (this.isDead) throw new Error('the process is dead');
    this.calls += 1;
    this.names.push(name);
    const dies = this.calls === this.#last;
    if (dies && this.#where === 'before') throw new Error('the process died');
    const answer = await work();
    if (dies) throw new Error('the process died');
    return answer;
  }
}

function portsOf(scene: Scene, mortal: Mortal): Pick<PoolContext, 'store' | 'provider' | 'backend'> {
  const store = mortal.of(scene.store, 'store');
  return { store, provider: mortal.of(scene.provider, 'provider'), backend: new PostgresBackend(store) };
}

/** Works until it dies: requests runners, uses them, releases them, and ends everything. */
async function live(scene: Scene, mortal: Mortal): Promise<void> {
  const pool = scene.pool({ intervals: INTERVALS }, portsOf(scene, mortal));
  pool.start();
  const hold = async ({ id, count }: (typeof HOLDS)[number]): Promise<void> => {
    const options: HoldOptions = { id, holder: 'a client', tenant: null, wait_ms: null };
    await pool.hold(demandOf({ count }), options).catch(() => undefined);
  };
  for (const one of HOLDS) await hold(one);
  await scene.pass(8 * SECOND);
  for (const { id } of HOLDS) await pool.releaseHold(id).catch(() => undefined);
  const running = await scene.runners('idle');
  await pool.terminate(running.map(({ id }) => id)).catch(() => undefined);
  await scene.pass(2 * SECOND);
  await pool.stop();
}

/** Asserts that no runner is held twice and that granted requests are complete. */
async function assertSound(scene: Scene): Promise<void> {
  const held = (await scene.runners()).filter(({ state }) => state === 'claimed' || state === 'running');
  const byRequest = Map.groupBy(held, ({ request_id }) => request_id);
  for (const { id, count } of HOLDS) {
    const request = await scene.store.request(id);
    const runners = byRequest.get(id) ?? [];
    if (request?.state === 'granted') assert.equal(runners.length, count, `runners of ${id}`);
    else assert.equal(runners.length, 0, `runners of ${id}, which is ${request?.state}`);
  }
  const names = (await scene.runners()).flatMap(({ provider_id }) => provider_id ?? []);
  assert.equal(new Set(names).size, names.length);
}

/** Lets another process take over: all requests are served, and nothing is left once no runner is needed. */
async function takeOver(scene: Scene): Promise<void> {
  const pool = scene.pool({ intervals: INTERVALS });
  pool.start();
  for (const { id, count } of HOLDS) {
    const options: HoldOptions = { id, holder: 'a client', tenant: null, wait_ms: null };
    await pool.hold(demandOf({ count }), options);
  }
  await scene.pass(70 * SECOND);
  await assertSound(scene);
  for (const { id } of HOLDS) {
    const { state } = await pool.request(id);
    assert.ok(state === 'granted' || state === 'ended', `request ${id} is ${state}`);
    await pool.releaseHold(id);
  }
  await scene.pass(90 * SECOND);
  assert.deepEqual(
    scene.provider.running.map(({ provider_id }) => provider_id),
    [],
    'instances that are left',
  );
  assert.deepEqual(await scene.store.leaving('fake', 10), []);
  assert.deepEqual(
    (await scene.runners()).filter(({ state }) => state !== 'terminated'),
    [],
    'runners that are left',
  );
  await scene.stop();
}

/** Shorter timeouts than usual, so that recovery from a crash is fast. */
function sceneOf(bootMs: number | null = 2 * SECOND): Scene {
  const times = {
    ...TIMES,
    ...{ created_ms: 40 * SECOND, register_ms: 20 * SECOND, idle_ms: 20 * SECOND },
    ...{ heartbeat_max_age_ms: 5 * SECOND, heartbeat_timeout_ms: 8 * SECOND, recheck_ms: 10 * SECOND },
  };
  return new Scene({ bootMs, policy: { batch_max: 2, times } });
}

const INTERVALS = { terminate_ms: 2 * SECOND, reap_ms: 5 * SECOND };

/** Number of calls in a life without a crash. */
async function callsOfALife(): Promise<{ calls: number; names: readonly string[] }> {
  const scene = sceneOf();
  const mortal = new Mortal(Infinity, 'after');
  await live(scene, mortal);
  await scene.stop();
  return mortal;
}

const { calls, names } = await callsOfALife();

test('a life makes every kind of call', () => {
  const kinds = new Set(names);
  for (const kind of ['store.plan', 'store.takeBatches', 'store.launched', 'store.sweep', 'store.leaving']) {
    assert.ok(kinds.has(kind), kind);
  }
  assert.ok(kinds.has('provider.launch') && kinds.has('provider.terminate'));
});

for (const where of ['before', 'after'] as const) {
  test(`a process that dies ${where} any of its ${calls} calls leaves nothing undone and nothing done twice`, async () => {
    for (let last = 1; last <= calls; last += 1) {
      const scene = sceneOf();
      const mortal = new Mortal(last, where);
      try {
        await live(scene, mortal);
        await assertSound(scene);
        await takeOver(scene);
        // All requests are served; a crash between a launch and its result leaves at most one extra batch.
        assert.ok(scene.provider.instances.size <= RUNNERS * 2, `${scene.provider.instances.size} instances`);
      } catch (error) {
        throw new Error(`dead ${where} call ${last}, ${mortal.names.at(-1)}`, { cause: error });
      }
    }
  });
}

test('instances whose agents never register are terminated wherever a process dies', async () => {
  for (let last = 1; last <= calls; last += 2) {
    const scene = sceneOf(null);
    const mortal = new Mortal(last, 'after');
    try {
      await live(scene, mortal);
      const pool = scene.pool({ intervals: INTERVALS });
      pool.start();
      for (const { id } of HOLDS) await pool.releaseHold(id).catch(() => undefined);
      await scene.pass(100 * SECOND);
      assert.deepEqual(scene.provider.running, []);
      assert.deepEqual(await scene.store.leaving('fake', 10), []);
      assert.ok((await scene.runners()).every(({ state }) => state === 'terminated'));
      await scene.stop();
    } catch (error) {
      throw new Error(`dead after call ${last}, ${mortal.names.at(-1)}`, { cause: error });
    }
  }
});

test('two processes, one of which dies at any time, serve all requests', async () => {
  for (let last = 1; last <= calls; last += 3) {
    const scene = sceneOf();
    const mortal = new Mortal(last, 'after');
    const other = scene.pool({ intervals: INTERVALS });
    other.start();
    try {
      await live(scene, mortal);
      await assertSound(scene);
      await other.stop();
      await takeOver(scene);
    } catch (error) {
      throw new Error(`dead after call ${last}, ${mortal.names.at(-1)}`, { cause: error });
    }
  }
});
