/**
 * A pool of runners in memory, for tests that read or change it: its provider starts nothing, and the tests act as its
 * agents.
 */
import { randomUUID } from 'node:crypto';

import { DEFAULT_RESOURCE_CLASSES } from '@heddle/base/vocabulary/resource-class';
import type { Runner } from '@heddle/core/domain/runner/runner';
import type { PoolContext } from '@heddle/core/pool/context';
import { Pool } from '@heddle/core/pool/pool';
import type { PoolBackend, Served } from '@heddle/core/pool/port/backend';
import type { PoolSample } from '@heddle/core/pool/port/history';
import type { RunnerRequest } from '@heddle/core/pool/port/store';
import { MemoryRunnerStore } from '../pool/memory-store/memory-store.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { FakeProvider, type FakeProviderOptions } from '../pool/fake-provider.ts';
import { eventually } from '../eventually.ts';
import { POLICY } from './pool-stub.ts';

const HOUR_MS = 3_600_000;
/** Nothing ends by time, however slow the machine is. */
const TIMES = { ...POLICY.times, confirm_ms: HOUR_MS, heartbeat_max_age_ms: HOUR_MS, heartbeat_timeout_ms: HOUR_MS };

export class PoolWorld {
  readonly store: MemoryRunnerStore;
  readonly provider: FakeProvider;
  readonly pool: Pool;
  /** The content of the history. */
  samples: PoolSample[] = [];
  readonly #context: PoolContext;

  constructor(options: Partial<FakeProviderOptions> = {}) {
    const now = (): number => systemClock.now();
    const classes = DEFAULT_RESOURCE_CLASSES;
    this.store = new MemoryRunnerStore({
      ...{ times: TIMES, classes, max_uses: null, now },
      notify: () => this.pool.ring(),
    });
    this.provider = new FakeProvider({ now, ...options });
    this.#context = {
      store: this.store,
      backend: new IndexedBackend(this.store),
      provider: this.provider,
      policy: { ...POLICY, times: TIMES, min_idle: [] },
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      history: {
        sample: () => Promise.resolve(),
        samples: (from) => Promise.resolve(this.samples.filter(({ at }) => at >= from)),
      },
    };
    this.pool = new Pool(this.#context);
  }

  /** Launches runners and lets their agents register: they become idle, or claimed for waiting requests. */
  async arrive(count = 1, resourceClass = 'large', usage: Runner['usage_class'] = 'on-demand'): Promise<string[]> {
    const ids = await this.launch(count, resourceClass, usage);
    for (const id of ids) await this.register(id);
    return ids;
  }

  /** Launches runners whose agents have not registered. */
  async launch(count = 1, resourceClass = 'large', usage: Runner['usage_class'] = 'on-demand'): Promise<string[]> {
    const { runner_ids } = await this.pool.provision({
      resource_class: resourceClass,
      usage_class: usage,
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
      count,
    });
    await this.launched(runner_ids);
    return [...runner_ids];
  }

  /** Resolves once the provider has started them. */
  async launched(ids: readonly string[]): Promise<void> {
    await eventually(async () => {
      const runners = await this.store.list({ ids }, { offset: 0, limit: 1_000 });
      return runners.length === ids.length && runners.every(({ provider_id }) => provider_id !== null);
    }, 'the runners are launched');
  }

  async register(id: string): Promise<void> {
    const { provider_id } = await this.runner(id);
    await this.store.register({ runner_id: id, batch_id: null, provider_id: provider_id!, address: '127.0.0.1' });
  }

  async confirm(id: string): Promise<void> {
    await this.store.confirm(id, (await this.runner(id)).epoch);
  }

  async runner(id: string): Promise<Runner> {
    const [runner] = await this.store.list({ ids: [id] }, { offset: 0, limit: 1 });
    if (runner === undefined) throw new Error(`there is no runner ${id}`);
    return runner;
  }

  /** A request as created by a task; returns its id. */
  async askForTask(resourceClass = 'large'): Promise<string> {
    const id = randomUUID();
    const wanted = { resource_class: resourceClass, usage_class: 'on-demand', allowed_instance_types: [] } as const;
    const size = { cpu: null, memory_mib: null, count: 1 };
    await this.store.ask([
      { ...wanted, ...size, id, tenant: 'acme', source: 'task', run: randomUUID(), attempt: 1, expires_at: null },
    ]);
    return id;
  }
}

/** Changes where the store keeps its idle runners. */
class IndexedBackend implements PoolBackend {
  readonly driver = 'postgres';
  readonly counts = { operations: 0, picked: 0, requeued: 0, discarded: 0 };
  readonly #store: MemoryRunnerStore;

  constructor(store: MemoryRunnerStore) {
    this.#store = store;
  }

  async serve(requests: readonly RunnerRequest[]): Promise<Served[]> {
    const grants = await this.#store.claimIdle(
      requests.length,
      requests.map(({ id }) => id),
    );
    const granted = new Map(grants.map((grant) => [grant.request_id, grant]));
    return requests.map(({ id }) => {
      const grant = granted.get(id) ?? null;
      return { request_id: id, grant, exhaustion: grant === null ? 'global' : null };
    });
  }

  offer(): Promise<void> {
    return Promise.resolve();
  }
}
