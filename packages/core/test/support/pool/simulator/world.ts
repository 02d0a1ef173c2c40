import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { PoolPolicy } from '../../../../src/pool/context.ts';
import { MemoryRunnerStore, type TaskStates } from '@heddle/test-support/pool/memory-store/memory-store';
import { VirtualClock } from '@heddle/base/clock';
import { Audit } from './audit.ts';
import { Chronicle } from './chronicle.ts';
import { Cloud, FAIR_WEATHER, INSTANCE_TYPES, type Instance } from './cloud.ts';
import { Dice } from './dice.ts';
import { Engine } from './engine.ts';
import { Holders } from './holders.ts';
import { Ledger } from './ledger.ts';
import { Machine } from './machine.ts';
import { SAFE, type Perils } from './mortal.ts';
import { DRIVERS, Site, type Driver } from './site.ts';
import { NO_TROUBLE, TroubledQueue } from './troubled-queue.ts';
import { OvertakeMonitor } from './turns.ts';

const CLASS = { name: 'small', cpu: 2, memory_mib: 4_096 };
/** Requested only where the pool is crowded. */
const SPARE = { name: 'spare', cpu: 4, memory_mib: 8_192 };
const SECOND = 1_000;

export const POLICY: PoolPolicy = {
  classes: [CLASS],
  times: {
    ...{ created_ms: 240 * SECOND, register_ms: 60 * SECOND, confirm_ms: 10 * SECOND, claim_ms: 60 * SECOND },
    ...{
      idle_ms: 25 * SECOND,
      heartbeat_max_age_ms: 12 * SECOND,
      heartbeat_timeout_ms: 20 * SECOND,
      recheck_ms: 40 * SECOND,
    },
    reserve_after_ms: 10 * SECOND,
  },
  ...{ max_runners: 8, batch_max: 3, launch_rate: { per_second: 2, burst: 6 }, min_idle: [] },
  ...{ max_uses: 4, keep_ms: 3_600 * SECOND },
};

/** Applies during the first minutes of a run, which starts at 22:13:20; then these runners time out like others. */
const KEPT: PoolPolicy = {
  ...POLICY,
  classes: [CLASS, SPARE],
  min_idle: [
    { resource_class: SPARE.name, usage_class: 'on-demand', count: 2, schedule: '13-15 22 * * *', time_zone: 'UTC' },
  ],
};
const KEPT_FROM_MS = 130 * SECOND;
const KEPT_UNTIL_MS = 155 * SECOND;
/** Idle for so long that a lost message matters. */
const PATIENT: PoolPolicy = { ...POLICY, times: { ...POLICY.times, idle_ms: 240 * SECOND } };

/** Full most of the time with two requested classes, one of which has a minimum of idle runners. */
const CROWDED: PoolPolicy = { ...KEPT, max_runners: 3, max_uses: null };

function policyOf(seed: number): PoolPolicy {
  if (seed % 7 === 3) return CROWDED;
  if (seed % 5 === 0) return KEPT;
  return seed % 11 === 1 ? PATIENT : POLICY;
}

const TENANTS = ['acme', 'beta', 'core'];
/** How long requests arrive and faults occur. */
const TROUBLE_MS = 50 * SECOND;
/** Everything has ended by then, including the offers of idle runners. */
const END_MS = 900 * SECOND;
const TICK_MS = SECOND;
const SERVER_PERILS: Perils = { crash: 0.002, delay: 0.05, failure: 0.01 };
const MACHINE_PERILS: Perils = { crash: 0.001, delay: 0.05, failure: 0.02 };

/** Around every call of a server. */
const KILL_POINTS: readonly string[] = [
  ...[
    'claimIdle',
    'claim',
    'waiting',
    'noteExhausted',
    'shortages',
    'census',
    'plan',
    'list',
    'takeBatches',
    'launched',
  ],
  ...['launchFailed', 'unoffered', 'sweep', 'leaving', 'gone', 'reconcile', 'forget'],
]
  .map((method) => `store.${method}`)
  .concat(['launch', 'list', 'terminate'].map((method) => `provider.${method}`))
  .flatMap((call) => [`before ${call}`, `after ${call}`]);

const QUEUE_KILL_POINTS: readonly string[] = ['receive', 'send', 'delete'].flatMap((method) => [
  `before queue.${method}`,
  `after queue.${method}`,
]);

export interface Outcome {
  readonly digest: string;
  /** Points at which servers were killed. */
  readonly deaths: readonly string[];
  readonly requests: number;
  readonly instances: number;
  /** How often the first request in the queue was overtaken, at most. */
  readonly overtaken: number;
  /** Whether the minimum of idle runners was met at the end; null if the policy has none. */
  readonly kept: boolean | null;
}

/** One run: servers, machines and clients on a virtual clock, with every possible fault. */
export class World {
  readonly clock = new VirtualClock();
  readonly chronicle = new Chronicle(() => this.clock.now());
  readonly dice: Dice;
  readonly cloud: Cloud;
  readonly engine: Engine;
  readonly store: MemoryRunnerStore;
  readonly deaths: string[] = [];
  readonly #holders: Holders;
  readonly #sites: readonly Site[];
  readonly #machines = new Map<string, Machine>();
  readonly #ledger: Ledger;
  readonly #audit: Audit;
  readonly #overtakes: OvertakeMonitor;
  readonly #start: number;
  readonly #doom: string;
  readonly #policy: PoolPolicy;
  #kept = false;
  #dooms = 2;
  #requests = 0;

  constructor(seed: number, driver: Driver) {
    const { clock, chronicle } = this;
    const dice = new Dice(seed);
    this.dice = dice;
    this.#start = clock.now();
    const killPoints = killPointsOf(driver);
    this.#doom = killPoints[Math.floor(seed / DRIVERS.length) % killPoints.length]!;
    const policy = policyOf(seed);
    this.#policy = policy;
    // Demands of tasks go through the engine, which needs the store first.
    const tasks: TaskStates = {
      hasStarted: (request) => this.engine.hasStarted(request),
      hasEnded: (request) => this.engine.hasEnded(request),
    };
    this.store = new MemoryRunnerStore({
      ...{ times: policy.times, classes: policy.classes, max_uses: policy.max_uses, tasks },
      now: () => clock.now(),
      notify: (runnerId) => this.#notify(runnerId),
      onGrant: (request) => this.#overtakes.granted(request),
    });
    this.#overtakes = new OvertakeMonitor(this.store, chronicle, policy);
    this.engine = new Engine(this.store, chronicle);
    this.cloud = new Cloud({
      ...{ clock, dice, chronicle, capacity: 7 },
      troubles: () =>
        this.#isTroubled
          ? { fault: 0.15, answerLost: 0.1, partial: 0.2, listFails: 0.2, terminateFails: 0.2 }
          : FAIR_WEATHER,
      onLaunch: (instance) => this.#boot(instance),
      onTerminate: (instance) => this.#terminated(instance),
    });
    this.#ledger = new Ledger({
      ...{ store: this.store, times: policy.times, chronicle, now: () => clock.now() },
      runs: (id) => this.cloud.instances.get(id)?.state === 'running',
    });
    this.#holders = new Holders({ store: this.#ledger.store, clock, dice, chronicle });
    const queue = new TroubledQueue({
      ...{ clock, dice },
      troubles: () =>
        this.#isTroubled
          ? { falseEmpty: 0.2, duplicate: 0.1, late: 0.2, throttled: 0.03, lost: 0.02 }
          : { ...NO_TROUBLE, duplicate: 0.02 },
    });
    this.#audit = new Audit({
      ...{ store: this.store, cloud: this.cloud, times: policy.times, chronicle, clock },
      offers: driver === 'postgres' ? null : queue.sentAt,
    });
    this.#sites = [0, 1].map(
      (at) =>
        new Site({
          ...{
            driver,
            store: this.#ledger.store,
            types: this.store.types,
            queue,
            provider: this.cloud,
            policy,
          },
          ...{ clock, dice, perils: () => this.#serverPerils() },
          onDeath: (where) => this.#died(`server ${at}`, where),
        }),
    );
  }

  /** @throws Violation, or any error that no part handles */
  async run(): Promise<Outcome> {
    const { chronicle } = this;
    for (const site of this.#sites) site.start();
    while (!(await this.#hasEnded())) {
      if (this.#isTroubled) await this.#trouble();
      await this.engine.tick();
      await this.#holders.tick();
      await this.#audit.check(!this.#isTroubled);
      await this.#overtakes.check();
      await this.#lookAtKept();
      await this.clock.advance(TICK_MS);
      chronicle.check();
    }
    const unserved = this.engine.open + this.#holders.open;
    if (unserved > 0) throw chronicle.violation(`${unserved} requests wait forever`);
    await this.#audit.settled();
    for (const site of this.#sites) await site.stop();
    const { deaths } = this;
    // In a crowded pool, the minimum is evicted.
    const kept = this.#policy === KEPT ? this.#kept : null;
    const counts = { requests: this.#requests, instances: this.cloud.instances.size, overtaken: this.#overtakes.seen };
    return { digest: chronicle.digest(), deaths, ...counts, kept };
  }

  get #elapsed(): number {
    return this.clock.now() - this.#start;
  }

  get #isTroubled(): boolean {
    return this.#elapsed < TROUBLE_MS;
  }

  /** Kills servers at random times, and at least twice in each run. */
  #serverPerils(): Perils {
    if (!this.#isTroubled) return SAFE;
    return this.#dooms > 0 ? { ...SERVER_PERILS, doom: this.#doom } : SERVER_PERILS;
  }

  async #hasEnded(): Promise<boolean> {
    if (this.#elapsed > END_MS + 4 * this.#policy.times.idle_ms) return true;
    if (this.#isTroubled || this.engine.open + this.#holders.open > 0 || this.cloud.running.length > 0) return false;
    const census = await this.store.census();
    return census.every(({ created, idle, claimed, running }) => created + idle + claimed + running === 0);
  }

  async #lookAtKept(): Promise<void> {
    const [wanted] = this.#policy.min_idle;
    if (wanted === undefined || this.#kept || this.#elapsed < KEPT_FROM_MS || this.#elapsed > KEPT_UNTIL_MS) return;
    const census = await this.store.census();
    const row = census.find(({ resource_class }) => resource_class === wanted.resource_class);
    this.#kept = (row?.idle ?? 0) >= wanted.count;
  }

  /** One second of external events. */
  async #trouble(): Promise<void> {
    const { dice } = this;
    if (dice.chance(this.#policy === CROWDED ? 0.8 : 0.25)) await this.#ask();
    if (dice.chance(0.01)) this.cloud.stray();
    if (dice.chance(0.03)) await this.#endByHand();
    const machines = [...this.#machines.values()];
    if (machines.length === 0) return;
    if (dice.chance(0.01)) dice.pick(machines).kill('of itself');
    if (dice.chance(0.02)) dice.pick(machines).cutOff(dice.between(2, 80) * SECOND);
    if (dice.chance(0.01)) this.#spot()?.interrupt();
  }

  /** A user terminates a held runner. */
  async #endByHand(): Promise<void> {
    const held = (await this.store.list({ ended: false }, { offset: 0, limit: 100 })).filter(
      ({ request_id }) => request_id !== null,
    );
    if (held.length > 0) await this.store.terminate([this.dice.pick(held).id], 'terminated by a user');
  }

  async #ask(): Promise<void> {
    const { dice } = this;
    this.#requests += 1;
    const isCrowded = this.#policy === CROWDED;
    const requirements: Requirements = {
      resource_class: isCrowded && dice.chance(0.15) ? SPARE.name : CLASS.name,
      usage_class: dice.chance(isCrowded ? 0.05 : 0.3) ? 'spot' : 'on-demand',
      allowed_instance_types: isCrowded || dice.chance(0.5) ? [] : [dice.pick(INSTANCE_TYPES)],
      ...{ cpu: null, memory_mib: null },
    };
    const count = dice.chance(isCrowded ? 0.95 : 0.8) ? 1 : dice.between(2, 3);
    const tenant = dice.pick(TENANTS);
    if (dice.chance(0.5)) this.engine.submit(dice.uuid(), tenant, requirements, count);
    else await this.#holders.ask(requirements, tenant, count);
  }

  #boot(instance: Instance): void {
    const { clock, dice } = this;
    this.chronicle.note(`launched ${instance.provider_id} for ${instance.batch_id}`);
    // Some machines take long to start, and some never do.
    const fate = this.#isTroubled ? dice.next() : 1;
    if (fate < 0.05) return;
    const bootMs = fate < 0.2 ? dice.between(20 * SECOND, 80 * SECOND) : dice.between(500, 15 * SECOND);
    clock.after(bootMs, () => {
      if (instance.state !== 'running') return;
      const machine = new Machine({
        ...{ instance, store: this.#ledger.store, engine: this.engine, cloud: this.cloud, clock, dice },
        ...{ chronicle: this.chronicle, perils: () => (this.#isTroubled ? MACHINE_PERILS : SAFE) },
      });
      this.#machines.set(instance.provider_id, machine);
      machine.start();
    });
  }

  async #terminated(instance: Instance): Promise<void> {
    this.chronicle.note(`terminated ${instance.provider_id}`);
    const { provider_id } = instance;
    this.#machines.get(provider_id)?.kill('by its provider');
    this.#machines.delete(provider_id);
    await this.#audit.terminated(instance);
  }

  #spot(): Machine | undefined {
    const spots = this.cloud.running.filter(({ usage }) => usage === 'spot');
    return spots.length === 0 ? undefined : this.#machines.get(this.dice.pick(spots).provider_id);
  }

  /** Delivers some of the notifications. */
  #notify(runnerId: string | null): void {
    if (!this.dice.chance(0.6)) return;
    if (runnerId === null) for (const site of this.#sites) site.wake();
    else [...this.#machines.values()].find((machine) => machine.runnerId === runnerId)?.wake();
  }

  #died(who: string, where: string): void {
    this.deaths.push(where);
    if (where === this.#doom) this.#dooms -= 1;
    this.chronicle.note(`${who} died ${where}`);
  }
}

/** The calls that a server makes with this backend. */
export function killPointsOf(driver: Driver): readonly string[] {
  if (driver !== 'postgres')
    return [...KILL_POINTS.filter((point) => !point.endsWith('store.claimIdle')), ...QUEUE_KILL_POINTS];
  return KILL_POINTS.filter((point) => !/store\.(claim|unoffered)$/.test(point));
}
