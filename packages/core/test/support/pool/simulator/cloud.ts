import { allowsType } from '../../../../src/domain/runner/classify.ts';
import type { UsageClass } from '@heddle/base/vocabulary/resource-class';
import {
  LaunchFailure,
  type LaunchBatch,
  type LaunchedRunner,
  type LaunchFault,
  type LaunchResult,
  type ProviderInstance,
  type RunnerProvider,
} from '../../../../src/pool/port/provider.ts';
import type { Clock } from '@heddle/base/clock';
import type { Chronicle } from './chronicle.ts';
import type { Dice } from './dice.ts';

export const INSTANCE_TYPES = ['a.small', 'b.small', 'c.small'] as const;
const PROVIDER_NAME = 'cloud';

export interface Instance {
  readonly provider_id: string;
  readonly runner_id: string;
  readonly batch_id: string;
  readonly instance_type: string;
  readonly usage: UsageClass;
  readonly launched_at: number;
  /** Whether its tags contain its runner, or only its batch. */
  readonly isNamed: boolean;
  state: 'running' | 'stopping' | 'gone';
}

/** Probabilities. */
export interface CloudTroubles {
  readonly fault: number;
  /** Everything was started, but the answer is lost. */
  readonly answerLost: number;
  readonly partial: number;
  readonly listFails: number;
  readonly terminateFails: number;
}

export const FAIR_WEATHER: CloudTroubles = { fault: 0, answerLost: 0, partial: 0, listFails: 0, terminateFails: 0 };

/** Maximum staleness of a listing and stop time of an instance, milliseconds. */
const LAG_MAX_MS = 5_000;
const STOP_MAX_MS = 5_000;
const PAGE = 3;

export interface CloudOptions {
  readonly clock: Clock;
  readonly dice: Dice;
  readonly chronicle: Chronicle;
  /** Maximum number of running instances. */
  readonly capacity: number;
  troubles(): CloudTroubles;
  onLaunch(instance: Instance): void;
  /** Stops from now on, as requested by the pool. */
  onTerminate(instance: Instance): Promise<void>;
}

/** A provider that starts some, all or none of the requested instances, and may lose its answers. */
export class Cloud implements RunnerProvider {
  readonly name = PROVIDER_NAME;
  readonly instances = new Map<string, Instance>();
  readonly #options: CloudOptions;
  readonly #answers = new Map<string, { parameters: string; result: LaunchResult }>();
  #failedLists = 0;
  #failedTerminations = 0;

  constructor(options: CloudOptions) {
    this.#options = options;
  }

  get running(): Instance[] {
    return [...this.instances.values()].filter(({ state }) => state === 'running');
  }

  async launch(batch: LaunchBatch): Promise<LaunchResult> {
    const { dice } = this.#options;
    const troubles = this.#options.troubles();
    await Promise.resolve();
    if (dice.chance(troubles.fault)) throw this.#fault();
    const parameters = JSON.stringify([batch.requirements, batch.cpu, batch.memory_mib, batch.runner_ids]);
    const before = this.#answers.get(batch.id);
    if (before !== undefined && before.parameters !== parameters)
      throw this.#options.chronicle.violation(`batch ${batch.id} is repeated with other parameters`);
    const result = before?.result ?? this.#start(batch, dice.chance(troubles.partial));
    this.#answers.set(batch.id, { parameters, result });
    if (dice.chance(troubles.answerLost)) throw new LaunchFailure('unclear', 'the answer was lost');
    return result;
  }

  async terminate(providerIds: readonly string[]): Promise<void> {
    await Promise.resolve();
    // Some calls succeed, so that retries make progress.
    if (this.#failedTerminations < 2 && this.#options.dice.chance(this.#options.troubles().terminateFails)) {
      this.#failedTerminations += 1;
      throw new Error('too many calls');
    }
    this.#failedTerminations = 0;
    for (const id of providerIds) {
      const instance = this.instances.get(id);
      if (instance?.state !== 'running') continue;
      instance.state = 'stopping';
      await this.#options.onTerminate(instance);
      this.#options.clock.after(this.#options.dice.between(0, STOP_MAX_MS), () => this.end(id));
    }
  }

  async *list(): AsyncIterable<readonly ProviderInstance[]> {
    const { dice, clock } = this.#options;
    const fails = this.#failedLists < 2 && dice.chance(this.#options.troubles().listFails);
    this.#failedLists = fails ? this.#failedLists + 1 : 0;
    const now = clock.now();
    const shown = [...this.instances.values()].filter((instance) => isShown(instance, now));
    const failsAt = fails ? dice.between(0, shown.length) : Infinity;
    for (let at = 0; at < shown.length; at += PAGE) {
      await Promise.resolve();
      if (at + PAGE > failsAt) break;
      yield shown.slice(at, at + PAGE).map(tagsOf);
    }
    if (fails) throw new Error('the listing broke off');
  }

  refresh(): Promise<string[]> {
    return Promise.resolve([]);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends an instance for any reason. */
  end(providerId: string): void {
    const instance = this.instances.get(providerId);
    if (instance !== undefined) instance.state = 'gone';
  }

  /** Adds an instance without a runner, as after a restored database or with copied tags. */
  stray(): void {
    const { dice } = this.#options;
    this.#run(dice.uuid(), dice.uuid(), 'on-demand', dice.pick(INSTANCE_TYPES));
  }

  #fault(): LaunchFailure {
    const fault = this.#options.dice.pick<LaunchFault>(['throttled', 'throttled', 'capacity', 'unclear', 'refused']);
    return new LaunchFailure(fault, `the launch was met by: ${fault}`);
  }

  #start(batch: LaunchBatch, isPartial: boolean): LaunchResult {
    const { dice, capacity } = this.#options;
    const types = INSTANCE_TYPES.filter((type) => allowsType(batch.requirements.allowed_instance_types, type));
    if (types.length === 0) throw new LaunchFailure('refused', 'there is no such type');
    const asked = batch.runner_ids.length;
    const free = Math.max(0, capacity - this.running.length);
    const count = Math.min(free, isPartial ? dice.between(1, asked) : asked);
    if (count === 0) throw new LaunchFailure('capacity', 'there are none of these now');
    const launched = batch.runner_ids.slice(0, count).map((id) => this.#add(batch, id, dice.pick(types)));
    return { launched, missing: count < asked ? 'there are no more of these now' : null };
  }

  #add({ id, requirements, cpu, memory_mib }: LaunchBatch, runner_id: string, instance_type: string): LaunchedRunner {
    const provider_id = this.#run(id, runner_id, requirements.usage_class, instance_type);
    return { runner_id, provider_id, instance_type, cpu, memory_mib };
  }

  #run(batch_id: string, runner_id: string, usage: UsageClass, instance_type: string): string {
    const { dice, clock } = this.#options;
    const provider_id = `i-${this.instances.size + 1}`;
    const instance: Instance = {
      ...{ provider_id, runner_id, batch_id, instance_type, usage },
      ...{ launched_at: clock.now(), isNamed: dice.chance(0.5), state: 'running' },
    };
    this.instances.set(provider_id, instance);
    this.#options.onLaunch(instance);
    return provider_id;
  }
}

/** Listings are stale: a new instance is missing from some of them. */
function isShown({ launched_at, provider_id }: Instance, now: number): boolean {
  return now - launched_at >= (Number(provider_id.slice(2)) * 977) % LAG_MAX_MS;
}

function tagsOf({ provider_id, runner_id, batch_id, state, launched_at, isNamed }: Instance): ProviderInstance {
  return { provider_id, runner_id: isNamed ? runner_id : null, batch_id, state, launched_at };
}
