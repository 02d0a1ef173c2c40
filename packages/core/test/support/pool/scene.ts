import { RunnerAgent } from '../../../src/pool/agent/agent.ts';
import { PostgresBackend } from '../../../src/pool/backends/postgres.ts';
import type { PoolContext, PoolMetrics, PoolPolicy } from '../../../src/pool/context.ts';
import type { PoolOptions } from '../../../src/pool/parts.ts';
import { Pool } from '../../../src/pool/pool.ts';
import type { Orders } from '../../../src/pool/port/store.ts';
import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import type { Demand } from '@heddle/base/vocabulary/requirements';
import type { Runner } from '../../../src/domain/runner/runner.ts';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger, type Logger } from '@heddle/base/log';
import { seededRandom } from '@heddle/base/random';
import { FakeProvider, type FakeInstance, type FakeProviderOptions } from '@heddle/test-support/pool/fake-provider';
import { CLASSES, TIMES } from './store/fixture.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

export const POLICY: PoolPolicy = {
  classes: CLASSES,
  times: TIMES,
  max_runners: 100,
  batch_max: 20,
  launch_rate: { per_second: 100, burst: 100 },
  min_idle: [],
  max_uses: null,
  keep_ms: 24 * 60 * MINUTE,
};

export function demandOf(overrides: Partial<Demand> = {}): Demand {
  return {
    resource_class: 'large',
    usage_class: 'on-demand',
    allowed_instance_types: [],
    cpu: null,
    memory_mib: null,
    count: 1,
    ...overrides,
  };
}

export interface SceneOptions {
  readonly policy?: Partial<PoolPolicy>;
  readonly provider?: Partial<FakeProviderOptions>;
  /** Time from a launch to the registration of its agent; null: agents never register. */
  readonly bootMs?: number | null;
  readonly log?: Logger;
}

/** A pool on a virtual clock: an in-memory store and provider, with real agents on the started instances. */
export class Scene {
  readonly clock = new VirtualClock();
  readonly store: MemoryRunnerStore;
  readonly provider: FakeProvider;
  readonly agents = new Map<string, RunnerAgent>();
  /** Counters of the pools, such as `launches launched`. */
  readonly counted = new Map<string, number>();
  readonly pools: Pool[] = [];
  readonly #options: SceneOptions;
  readonly #policy: PoolPolicy;
  #pools = 0;

  constructor(options: SceneOptions = {}) {
    this.#options = options;
    this.#policy = { ...POLICY, ...options.policy };
    const now = (): number => this.clock.now();
    const { times, classes, max_uses } = this.#policy;
    this.store = new MemoryRunnerStore({ times, classes, max_uses, now });
    this.provider = new FakeProvider({
      now,
      ...options.provider,
      onLaunched: (instance) => this.#boot(instance),
      onTerminated: ({ provider_id }) => void this.agents.get(provider_id)?.stop(),
    });
  }

  /** Adds the pool of another process. */
  pool(options: PoolOptions = {}, more: Partial<PoolContext> = {}): Pool {
    const pool = new Pool(this.context(more), options);
    this.pools.push(pool);
    return pool;
  }

  context(more: Partial<PoolContext> = {}): PoolContext {
    this.#pools += 1;
    const real = { store: this.store, provider: this.provider, backend: new PostgresBackend(this.store) };
    return {
      ...real,
      policy: this.#policy,
      clock: this.clock,
      random: seededRandom(this.#pools),
      log: this.#options.log ?? silentLogger,
      metrics: this.#metrics(),
      ...more,
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.stop()));
    await Promise.all([...this.agents.values()].map((agent) => agent.stop()));
  }

  /** Advances the clock, and lets work run that needs no time. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SECOND) {
      await this.clock.advance(Math.min(left, SECOND));
      await this.turns(3);
    }
    await this.turns(10);
  }

  async turns(count = 10): Promise<void> {
    for (let turn = 0; turn < count; turn += 1) await this.clock.advance(0);
  }

  runners(state?: Runner['state']): Promise<Runner[]> {
    return this.store.list(state === undefined ? {} : { state }, { offset: 0, limit: 1_000 });
  }

  count(name: string): number {
    return this.counted.get(name) ?? 0;
  }

  launches(): string[] {
    return this.provider.calls.filter(({ method }) => method === 'launch').flatMap(({ ids }) => [...ids]);
  }

  #boot(instance: FakeInstance): void {
    const { bootMs = 2 * SECOND } = this.#options;
    if (bootMs === null || instance.runner_id === null) return;
    const agent = new RunnerAgent({
      connection: this.store,
      registration: { runner_id: instance.runner_id, batch_id: null, provider_id: instance.provider_id, address: null },
      clock: this.clock,
      log: silentLogger,
      heartbeat_ms: SECOND,
      onClaimed: (_orders: Orders) => undefined,
      onEnd: () => this.provider.vanish(instance.provider_id),
    });
    this.agents.set(instance.provider_id, agent);
    this.clock.after(bootMs, () => {
      if (this.provider.instances.get(instance.provider_id)?.state === 'running') agent.start();
    });
  }

  #metrics(): PoolMetrics {
    const count = (name: string, by: number): void => void this.counted.set(name, this.count(name) + by);
    return {
      pickup: (_class, source) => count(`pickup ${source}`, 1),
      launches: (_provider, outcome, by) => count(`launches ${outcome}`, by),
      requeued: (_driver, by) => count('requeued', by),
      discarded: (_driver, by) => count('discarded', by),
      exhausted: (type, by) => count(`exhausted ${type}`, by),
      ended: (reason, by) => count(`ended ${reason}`, by),
      reaped: (what, by) => count(`reaped ${what}`, by),
    };
  }
}
