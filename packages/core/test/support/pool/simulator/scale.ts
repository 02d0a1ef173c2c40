import { createHash } from 'node:crypto';

import { PostgresBackend } from '../../../../src/pool/backends/postgres.ts';
import type { PoolContext, PoolPolicy } from '../../../../src/pool/context.ts';
import type { RunnerProvider } from '../../../../src/pool/port/provider.ts';
import type { NewRequest, RunnerStore } from '../../../../src/pool/port/store.ts';
import { Server } from '../../../../src/pool/serve.ts';
import { MemoryRunnerStore } from '@heddle/test-support/pool/memory-store/memory-store';
import { VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { Dice } from './dice.ts';
import { POLICY } from './world.ts';

export interface Scale {
  readonly seed: number;
  readonly runners: number;
  readonly claimers: number;
  readonly types: number;
  readonly tenants: number;
  /** Virtual time. */
  readonly seconds: number;
}

export interface ScaleOutcome {
  readonly digest: string;
  readonly asked: number;
  readonly granted: number;
}

interface Claimer {
  readonly tenant: string;
  request: NewRequest | null;
  /** When it sends its request, or releases its runners. */
  at: number;
}

const CLASS = { name: 'small', cpu: 2, memory_mib: 4_096 };
const SET = 1_000;
const HOLD_MAX_S = 4;
const THINK_MAX_S = 3;
const HOUR_MS = 3_600_000;

/** Many runners and requests, second by second: every runner sends heartbeats, requests are served in queue order. */
export class ScaleRun {
  readonly #scale: Scale;
  readonly #clock = new VirtualClock();
  readonly #dice: Dice;
  readonly #store: MemoryRunnerStore;
  readonly #server: Server;
  readonly #claimers: Claimer[];
  readonly #hash = createHash('sha256');
  readonly #runnerIds: string[] = [];
  #asked = 0;
  #granted = 0;

  constructor(scale: Scale) {
    this.#scale = scale;
    const dice = new Dice(scale.seed);
    this.#dice = dice;
    const clock = this.#clock;
    const policy: PoolPolicy = { ...POLICY, classes: [CLASS], times: { ...POLICY.times, idle_ms: HOUR_MS } };
    this.#store = new MemoryRunnerStore({ ...policy, max_uses: null, now: () => clock.now() });
    this.#server = new Server(contextOf(this.#store, policy, clock, dice));
    this.#claimers = Array.from({ length: scale.claimers }, (_, at) => ({
      tenant: `tenant ${at % scale.tenants}`,
      request: null,
      at: dice.between(0, THINK_MAX_S),
    }));
  }

  async run(): Promise<ScaleOutcome> {
    await this.#launch();
    for (let second = 0; second < this.#scale.seconds; second += 1) {
      // A fifth of them in each second.
      for (let at = second % 5; at < this.#runnerIds.length; at += 5) await this.#store.heartbeat(this.#runnerIds[at]!);
      await this.#letGo(second);
      await this.#ask(second);
      await this.#server.runOnce();
      await this.#look(second);
      await this.#store.sweep(SET, []);
      await this.#clock.advance(1_000);
    }
    return { digest: this.#hash.digest('hex'), asked: this.#asked, granted: this.#granted };
  }

  async #launch(): Promise<void> {
    const { runners, types } = this.#scale;
    const { cpu, memory_mib, name } = CLASS;
    const kind = {
      resource_class: name,
      usage_class: 'on-demand',
      allowed_instance_types: [],
      cpu: null,
      memory_mib: null,
    };
    const requirements = kind as typeof kind & { usage_class: 'on-demand' };
    for (let made = 0; made < runners; made += SET) {
      const id = this.#dice.uuid();
      const runner_ids = Array.from({ length: Math.min(SET, runners - made) }, () => this.#dice.uuid());
      await this.#store.plan([{ id, provider: 'cloud', requirements, cpu, memory_mib, runner_ids }]);
      const launched = runner_ids.map((runner_id, at) => ({
        ...{
          runner_id,
          provider_id: `i-${made + at}`,
          instance_type: `t${(made + at) % types}.small`,
          cpu,
          memory_mib,
        },
      }));
      await this.#store.launched(id, launched, null);
      for (const { runner_id, provider_id } of launched) {
        await this.#store.register({ runner_id, batch_id: null, provider_id, address: null });
      }
      this.#runnerIds.push(...runner_ids);
    }
  }

  async #letGo(second: number): Promise<void> {
    const done = this.#claimers.filter(({ request, at }) => request !== null && at === second);
    const ids = done.map(({ request }) => request!.id);
    for (let at = 0; at < ids.length; at += SET) await this.#store.withdraw(ids.slice(at, at + SET), 'done');
    for (const claimer of done) {
      claimer.request = null;
      claimer.at = second + this.#dice.between(0, THINK_MAX_S);
    }
  }

  async #ask(second: number): Promise<void> {
    const asking = this.#claimers.filter(({ request, at }) => request === null && at === second);
    for (const claimer of asking) {
      claimer.request = this.#requestFor(claimer.tenant);
      claimer.at = Infinity;
    }
    const requests = asking.map(({ request }) => request!);
    this.#asked += requests.length;
    for (let at = 0; at < requests.length; at += SET) await this.#store.ask(requests.slice(at, at + SET));
  }

  /** Holds a granted runner for a while. */
  async #look(second: number): Promise<void> {
    for (const claimer of this.#claimers) {
      if (claimer.request === null || claimer.at !== Infinity) continue;
      const request = (await this.#store.request(claimer.request.id))!;
      if (request.state !== 'granted') continue;
      this.#granted += 1;
      for (const { id, epoch } of request.runners) {
        this.#hash.update(`${second} ${request.id} ${id} ${epoch}\n`);
        await this.#store.confirm(id, epoch);
      }
      claimer.at = second + this.#dice.between(1, HOLD_MAX_S);
    }
  }

  #requestFor(tenant: string): NewRequest {
    const { types } = this.#scale;
    // Some types are requested far more often than others, so that requests wait.
    const type = this.#dice.chance(0.3) ? 0 : this.#dice.between(0, types - 1);
    return {
      ...{ id: this.#dice.uuid(), tenant, source: 'holder', run: tenant, attempt: null, expires_at: null },
      ...{ resource_class: CLASS.name, usage_class: 'on-demand', cpu: null, memory_mib: null },
      allowed_instance_types: [`t${type}.*`],
      count: this.#dice.chance(0.02) ? this.#dice.between(2, 8) : 1,
    };
  }
}

function contextOf(store: RunnerStore, policy: PoolPolicy, clock: VirtualClock, dice: Dice): PoolContext {
  const provider: RunnerProvider = {
    name: 'cloud',
    launch: () => Promise.reject(new Error('nothing is launched here')),
    terminate: () => Promise.resolve(),
    async *list() {},
    refresh: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  };
  return { store, backend: new PostgresBackend(store), provider, policy, clock, random: dice, log: silentLogger };
}
