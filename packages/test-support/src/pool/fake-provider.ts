import {
  LaunchFailure,
  type LaunchBatch,
  type LaunchedRunner,
  type LaunchFault,
  type LaunchResult,
  type ProviderInstance,
  type RunnerProvider,
} from '@heddle/core/pool/port/provider';

export interface FakeInstance {
  readonly provider_id: string;
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly instance_type: string;
  readonly launched_at: number;
  /** Milliseconds since the epoch; earlier listings do not include the instance. */
  readonly listed_from: number;
  state: ProviderInstance['state'];
}

/**
 * Trouble of the next call of `launch`: a fault before anything starts, a response lost after everything started, or
 * a number of runners that are missing.
 */
export type Trouble = LaunchFault | 'answer lost' | { readonly missing: number };

export interface FakeProviderOptions {
  readonly name?: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /**
   * Instance type of a runner: by default `a.` and the class, or the first allowed pattern with `*` replaced by `x`.
   */
  typeOf?(batch: LaunchBatch, index: number): string;
  /** Maximum number of running instances. */
  readonly capacity?: number;
  readonly pageSize?: number;
  /** Time after its launch during which an instance is missing from listings. */
  readonly listLagMs?: number;
  onLaunched?(instance: FakeInstance): void;
  onTerminated?(instance: FakeInstance): void;
}

/** An in-memory provider that remembers client tokens and fails on demand. */
export class FakeProvider implements RunnerProvider {
  readonly name: string;
  readonly instances = new Map<string, FakeInstance>();
  /** Each call of `launch` takes one. */
  readonly troubles: Trouble[] = [];
  /** While set, the method of this name throws. */
  broken: 'list' | 'terminate' | 'refresh' | null = null;
  /** All calls in order, with the batch or instances that they named. */
  readonly calls: { readonly method: string; readonly ids: readonly string[] }[] = [];
  readonly #answers = new Map<string, { readonly parameters: string; readonly result: LaunchResult }>();
  readonly #options: FakeProviderOptions;
  #launched = 0;

  constructor(options: FakeProviderOptions) {
    this.#options = options;
    this.name = options.name ?? 'fake';
  }

  /** Running instances, including those missing from listings. */
  get running(): FakeInstance[] {
    return [...this.instances.values()].filter(({ state }) => state === 'running');
  }

  // Every method yields first, so that a missing await is detected.
  async launch(batch: LaunchBatch): Promise<LaunchResult> {
    this.calls.push({ method: 'launch', ids: [batch.id] });
    await Promise.resolve();
    const trouble = this.troubles.shift();
    if (typeof trouble === 'string' && trouble !== 'answer lost') {
      throw new LaunchFailure(trouble, `the launch was met by: ${trouble}`);
    }
    const parameters = JSON.stringify([batch.requirements, batch.cpu, batch.memory_mib, batch.runner_ids]);
    const before = this.#answers.get(batch.id);
    if (before !== undefined && before.parameters !== parameters) {
      throw new LaunchFailure('refused', 'the client token was used with other parameters');
    }
    const result = before?.result ?? this.#start(batch, typeof trouble === 'object' ? trouble.missing : 0);
    this.#answers.set(batch.id, { parameters, result });
    if (trouble === 'answer lost') throw new LaunchFailure('unclear', 'the answer was lost');
    return result;
  }

  async terminate(providerIds: readonly string[]): Promise<void> {
    this.calls.push({ method: 'terminate', ids: providerIds });
    await Promise.resolve();
    this.#failIf('terminate');
    for (const id of providerIds) this.vanish(id);
  }

  async *list(): AsyncIterable<readonly ProviderInstance[]> {
    this.calls.push({ method: 'list', ids: [] });
    const { pageSize = 2 } = this.#options;
    const now = this.#options.now();
    const shown = [...this.instances.values()].filter(({ listed_from }) => listed_from <= now);
    for (let at = 0; at < shown.length; at += pageSize) {
      await Promise.resolve();
      yield shown.slice(at, at + pageSize).map((instance) => ({ ...instance }));
      this.#failIf('list');
    }
    this.#failIf('list');
  }

  async refresh(): Promise<string[]> {
    this.calls.push({ method: 'refresh', ids: [] });
    await Promise.resolve();
    this.#failIf('refresh');
    return ['the template was updated'];
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  /** Ends an instance, ordered or not. */
  vanish(providerId: string): void {
    const instance = this.instances.get(providerId);
    if (instance === undefined || instance.state === 'gone') return;
    instance.state = 'gone';
    this.#options.onTerminated?.({ ...instance });
  }

  /** Listings no longer include ended instances. */
  forget(): void {
    for (const { provider_id, state } of [...this.instances.values()]) {
      if (state === 'gone') this.instances.delete(provider_id);
    }
  }

  /** Adds an instance that belongs to no runner. */
  stray(): FakeInstance {
    return this.#add(null, null, 'a.large');
  }

  #start(batch: LaunchBatch, missing: number): LaunchResult {
    const free = (this.#options.capacity ?? Infinity) - this.running.length;
    const count = Math.max(0, Math.min(batch.runner_ids.length - missing, free));
    if (count === 0) throw new LaunchFailure('capacity', 'there are none of these now');
    const launched = batch.runner_ids.slice(0, count).map((runner_id, index): LaunchedRunner => {
      const instance_type = this.#options.typeOf?.(batch, index) ?? typeFor(batch);
      const { provider_id } = this.#add(runner_id, batch.id, instance_type);
      return { runner_id, provider_id, instance_type, cpu: batch.cpu, memory_mib: batch.memory_mib };
    });
    return { launched, missing: count < batch.runner_ids.length ? 'there are no more of these now' : null };
  }

  #add(runner_id: string | null, batch_id: string | null, instance_type: string): FakeInstance {
    this.#launched += 1;
    const now = this.#options.now();
    const instance: FakeInstance = {
      provider_id: `${this.name}-${this.#launched}`,
      runner_id,
      batch_id,
      instance_type,
      launched_at: now,
      listed_from: now + (this.#options.listLagMs ?? 0),
      state: 'running',
    };
    this.instances.set(instance.provider_id, instance);
    this.#options.onLaunched?.({ ...instance });
    return instance;
  }

  #failIf(method: string): void {
    if (this.broken === method) throw new Error(`the provider cannot ${method} now`);
  }
}

function typeFor({ requirements }: LaunchBatch): string {
  const [first] = requirements.allowed_instance_types;
  return first === undefined ? `a.${requirements.resource_class}` : first.replaceAll('*', 'x');
}
