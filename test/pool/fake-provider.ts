import {
  LaunchFailure,
  type LaunchBatch,
  type LaunchedRunner,
  type LaunchFault,
  type LaunchResult,
  type ProviderInstance,
  type RunnerProvider,
} from '../../src/pool/port/provider.ts';

export interface FakeInstance {
  readonly provider_id: string;
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly instance_type: string;
  readonly launched_at: number;
  /** Milliseconds since the epoch: listings of before do not show it. */
  readonly listed_from: number;
  state: ProviderInstance['state'];
}

/**
 * What the next call of `launch` meets: a fault before anything is started, an answer that is lost after everything was
 * started, or so many runners less than asked for.
 */
export type Trouble = LaunchFault | 'answer lost' | { readonly missing: number };

export interface FakeProviderOptions {
  readonly name?: string;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The type of a runner; `a.` and the class by default, or the first allowed one with `*` as `x`. */
  typeOf?(batch: LaunchBatch, index: number): string;
  /** Instances that may run at once. */
  readonly capacity?: number;
  readonly pageSize?: number;
  /** How long after its launch an instance is not in any listing. */
  readonly listLagMs?: number;
  onLaunched?(instance: FakeInstance): void;
  onTerminated?(instance: FakeInstance): void;
}

/** A provider in memory that keeps its client tokens, and fails as it is told to. */
export class FakeProvider implements RunnerProvider {
  readonly name: string;
  readonly instances = new Map<string, FakeInstance>();
  /** Taken by the next calls of `launch`, one each. */
  readonly troubles: Trouble[] = [];
  /** While set, the method of this name throws. */
  broken: 'list' | 'terminate' | 'refresh' | null = null;
  /** Every call, in order, with the batch or the instances that it named. */
  readonly calls: { readonly method: string; readonly ids: readonly string[] }[] = [];
  readonly #answers = new Map<string, { readonly words: string; readonly result: LaunchResult }>();
  readonly #options: FakeProviderOptions;
  #launched = 0;

  constructor(options: FakeProviderOptions) {
    this.#options = options;
    this.name = options.name ?? 'fake';
  }

  /** Instances that run, whether a listing shows them or not. */
  get running(): FakeInstance[] {
    return [...this.instances.values()].filter(({ state }) => state === 'running');
  }

  // Each method waits for a turn, so that whoever forgets to await it is found out.
  async launch(batch: LaunchBatch): Promise<LaunchResult> {
    this.calls.push({ method: 'launch', ids: [batch.id] });
    await Promise.resolve();
    const trouble = this.troubles.shift();
    if (typeof trouble === 'string' && trouble !== 'answer lost') {
      throw new LaunchFailure(trouble, `the launch was met by: ${trouble}`);
    }
    const words = JSON.stringify([batch.requirements, batch.cpu, batch.memory_mib, batch.runner_ids]);
    const before = this.#answers.get(batch.id);
    if (before !== undefined && before.words !== words) {
      throw new LaunchFailure('refused', 'the client token was used with other parameters');
    }
    const result = before?.result ?? this.#start(batch, typeof trouble === 'object' ? trouble.missing : 0);
    this.#answers.set(batch.id, { words, result });
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
    return ['the template was written anew'];
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  /** An instance ends without anybody's order, or by one. */
  vanish(providerId: string): void {
    const instance = this.instances.get(providerId);
    if (instance === undefined || instance.state === 'gone') return;
    instance.state = 'gone';
    this.#options.onTerminated?.({ ...instance });
  }

  /** Ended instances are not shown any more. */
  forget(): void {
    for (const { provider_id, state } of [...this.instances.values()]) {
      if (state === 'gone') this.instances.delete(provider_id);
    }
  }

  /** An instance that no row knows. */
  stray(): FakeInstance {
    return this.#add(null, null, 'a.large');
  }

  #start(batch: LaunchBatch, missing: number): LaunchResult {
    const room = (this.#options.capacity ?? Infinity) - this.running.length;
    const count = Math.max(0, Math.min(batch.runner_ids.length - missing, room));
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
