import type { ResourceClass, UsageClass } from '@heddle/base/vocabulary/resource-class';
import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { Runner } from '../../../../src/domain/runner/runner.ts';
import type { ProviderInstance } from '../../../../src/pool/port/provider.ts';
import type { NewRequest, Orders, PoolTimes, RunnerRequest, RunnerStore } from '../../../../src/pool/port/store.ts';

export const SECOND = 1_000;
export const PROVIDER = 'yard';
const START = 1_700_000_000_000;

export const TIMES: PoolTimes = {
  created_ms: 600 * SECOND,
  register_ms: 180 * SECOND,
  confirm_ms: 10 * SECOND,
  claim_ms: 300 * SECOND,
  idle_ms: 300 * SECOND,
  heartbeat_max_age_ms: 15 * SECOND,
  heartbeat_timeout_ms: 30 * SECOND,
  recheck_ms: 60 * SECOND,
  reserve_after_ms: 10 * SECOND,
};

export const CLASSES: readonly ResourceClass[] = [
  { name: 'large', cpu: 2, memory_mib: 4_096 },
  { name: 'xlarge', cpu: 4, memory_mib: 8_192 },
];

/** Settings of a store, read at every call. */
export interface StoreSettings {
  readonly times: PoolTimes;
  readonly classes: readonly ResourceClass[];
  readonly max_uses: number | null;
  /** Time of the store, milliseconds since the epoch. */
  readonly now: () => number;
}

/** Opens an empty store. */
export type OpenStore = (settings: StoreSettings) => Promise<RunnerStore>;

export interface RequestWords extends Partial<Omit<NewRequest, 'id'>> {
  /** Patterns of instance types. */
  readonly types?: readonly string[];
}

export function requirementsOf(overrides: Partial<Requirements> & { types?: readonly string[] } = {}): Requirements {
  return {
    resource_class: overrides.resource_class ?? 'large',
    usage_class: overrides.usage_class ?? 'on-demand',
    allowed_instance_types: [...(overrides.types ?? overrides.allowed_instance_types ?? [])].sort(),
    cpu: overrides.cpu ?? null,
    memory_mib: overrides.memory_mib ?? null,
  };
}

export interface RunnerWords {
  readonly type?: string;
  readonly usage?: UsageClass;
  readonly resource_class?: string;
}

/** A store on a virtual clock, with helpers for common setups. */
export class Yard {
  readonly store: RunnerStore;
  readonly #moment: { now: number };
  #ids = 0;

  constructor(store: RunnerStore, moment: { now: number }) {
    this.store = store;
    this.#moment = moment;
  }

  static async open(open: OpenStore, settings: Partial<StoreSettings> = {}): Promise<Yard> {
    const moment = { now: START };
    const now = (): number => moment.now;
    return new Yard(await open({ times: TIMES, classes: CLASSES, max_uses: null, now, ...settings }), moment);
  }

  get now(): number {
    return this.#moment.now;
  }

  pass(ms: number): void {
    this.#moment.now += ms;
  }

  /** Ascending IDs. */
  newId(): string {
    this.#ids += 1;
    return `018bcfe5-6800-7000-8000-${this.#ids.toString(16).padStart(12, '0')}`;
  }

  newRequest({ types, ...overrides }: RequestWords = {}): NewRequest {
    const { resource_class, usage_class, cpu, memory_mib, allowed_instance_types } = overrides;
    const patterns = types ?? allowed_instance_types;
    return {
      ...requirementsOf({
        ...(resource_class === undefined ? {} : { resource_class }),
        ...(usage_class === undefined ? {} : { usage_class }),
        ...(patterns === undefined ? {} : { types: patterns }),
        cpu: cpu ?? null,
        memory_mib: memory_mib ?? null,
      }),
      id: this.newId(),
      count: overrides.count ?? 1,
      tenant: overrides.tenant ?? 'acme',
      source: overrides.source ?? 'holder',
      run: overrides.run ?? 'a client',
      attempt: overrides.attempt ?? null,
      expires_at: overrides.expires_at ?? null,
    };
  }

  /** Adds one request and returns its ID. */
  async ask(overrides: RequestWords = {}): Promise<string> {
    const request = this.newRequest(overrides);
    await this.store.ask([request]);
    return request.id;
  }

  /** Plans one batch and returns the IDs of its runners. */
  async plan(count = 1, overrides: RunnerWords & { types?: readonly string[]; id?: string } = {}): Promise<string[]> {
    const resourceClass = CLASSES.find(({ name }) => name === (overrides.resource_class ?? 'large'))!;
    const runnerIds = Array.from({ length: count }, () => this.newId());
    const requirements = requirementsOf({
      resource_class: resourceClass.name,
      usage_class: overrides.usage ?? 'on-demand',
      types: overrides.types ?? [],
    });
    const { cpu, memory_mib } = resourceClass;
    const id = overrides.id ?? this.newId();
    await this.store.plan([{ id, provider: PROVIDER, requirements, cpu, memory_mib, runner_ids: runnerIds }]);
    return runnerIds;
  }

  launchedAs(runnerId: string, overrides: RunnerWords = {}) {
    const resourceClass = CLASSES.find(({ name }) => name === (overrides.resource_class ?? 'large'))!;
    return {
      runner_id: runnerId,
      provider_id: providerIdOf(runnerId),
      instance_type: overrides.type ?? 'a.large',
      cpu: resourceClass.cpu,
      memory_mib: resourceClass.memory_mib,
    };
  }

  /** A runner that was launched but has not registered. */
  async launch(overrides: RunnerWords = {}): Promise<string> {
    const batch = this.newId();
    const [id] = await this.plan(1, { ...overrides, id: batch });
    await this.store.launched(batch, [this.launchedAs(id!, overrides)], null);
    return id!;
  }

  register(id: string): Promise<Orders | null> {
    return this.store.register({ runner_id: id, batch_id: null, provider_id: providerIdOf(id), address: null });
  }

  /** A runner that has just registered: idle if no request waits. */
  async arrive(overrides: RunnerWords = {}): Promise<string> {
    const id = await this.launch(overrides);
    await this.register(id);
    // Later arrivals get later times, so that the order is deterministic.
    this.pass(1);
    return id;
  }

  /** A runner that runs for its own request. */
  async running(overrides: RunnerWords & { request?: RequestWords } = {}): Promise<{ id: string; request: string }> {
    const id = await this.arrive(overrides);
    const request = await this.ask(overrides.request);
    const [grant] = await this.store.claimIdle(1, [request]);
    const [runner] = grant?.runners ?? [];
    if (runner?.id !== id) throw new Error('the only idle runner was not claimed');
    await this.store.confirm(id, runner.epoch);
    return { id, request };
  }

  async beat(...ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.store.heartbeat(id);
  }

  /** Advances the clock while these runners send heartbeats every five seconds. */
  async live(ms: number, ...ids: readonly string[]): Promise<void> {
    for (let left = ms; left > 0; left -= 5 * SECOND) {
      this.pass(Math.min(left, 5 * SECOND));
      await this.beat(...ids);
    }
  }

  async runner(id: string): Promise<Runner> {
    const runner = (await this.store.list({}, { offset: 0, limit: 1_000 })).find((each) => each.id === id);
    if (runner === undefined) throw new Error(`there is no runner ${id}`);
    return runner;
  }

  async stateOf(id: string): Promise<Runner['state']> {
    return (await this.runner(id)).state;
  }

  async request(id: string): Promise<RunnerRequest & { readonly runners: readonly Runner[] }> {
    const request = await this.store.request(id);
    if (request === null) throw new Error(`there is no request ${id}`);
    return request;
  }

  /** Runners claimed or running for a request. */
  async holdersOf(id: string): Promise<string[]> {
    const { runners } = await this.request(id);
    const held = runners.filter(({ state }) => state === 'claimed' || state === 'running');
    return held.map((runner) => runner.id).sort();
  }

  instance(runnerId: string, overrides: Partial<ProviderInstance> = {}): ProviderInstance {
    return {
      provider_id: providerIdOf(runnerId),
      runner_id: runnerId,
      batch_id: null,
      state: 'running',
      launched_at: this.now,
      ...overrides,
    };
  }
}

export function providerIdOf(runnerId: string): string {
  return `i-${runnerId}`;
}

/** A case of the suite: its name, and its actions on a separate store. */
export interface Case {
  readonly name: string;
  readonly settings?: Partial<StoreSettings>;
  run(yard: Yard): Promise<void>;
}
