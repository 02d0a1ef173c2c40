import type { PoolContext } from './context.ts';
import { sampleOnce } from './history.ts';
import { Launcher } from './launch.ts';
import { LaunchHealth } from './launch-health.ts';
import { IdleTargets } from './min-idle.ts';
import { Offerer } from './offer.ts';
import { Part } from './part.ts';
import { Provisioner } from './provision.ts';
import { Reaper } from './reap.ts';
import { Replenisher } from './replenish.ts';
import { Server } from './serve.ts';
import { forgetOnce, Sweeper } from './sweep.ts';

/** Interval of each part when it is not woken earlier, milliseconds. */
export interface PoolIntervals {
  readonly serve_ms: number;
  readonly provision_ms: number;
  readonly launch_ms: number;
  readonly sweep_ms: number;
  readonly terminate_ms: number;
  readonly reap_ms: number;
  readonly replenish_ms: number;
  readonly offer_ms: number;
  readonly forget_ms: number;
  readonly sample_ms: number;
}

const POOL_INTERVALS: PoolIntervals = {
  serve_ms: 1_000,
  provision_ms: 1_000,
  launch_ms: 1_000,
  sweep_ms: 1_000,
  terminate_ms: 5_000,
  reap_ms: 30_000,
  replenish_ms: 5_000,
  offer_ms: 1_000,
  forget_ms: 60_000,
  sample_ms: 60_000,
};

const DATABASE = 'it resumes as soon as the database is reachable';
const QUEUE = 'check that the database and the queue service are reachable';
const PROVIDER = 'check that the provider is reachable and that this server has permission to use it';

export interface PoolOptions {
  readonly intervals?: Partial<PoolIntervals>;
  /** False: this process leaves launching and terminating instances to other processes. Default: true. */
  readonly launches?: boolean;
}

/** The parts of a pool, and which parts each of them wakes. */
export class PoolParts {
  readonly health: LaunchHealth;
  readonly targets: IdleTargets;
  readonly server: Server;
  readonly provisioner: Provisioner;
  readonly launcher: Launcher;
  readonly sweeper: Sweeper;
  readonly reaper: Reaper;
  readonly replenisher: Replenisher;
  readonly offerer: Offerer;
  readonly parts: readonly Part[];
  readonly #context: PoolContext;
  readonly #byName: ReadonlyMap<string, Part>;

  constructor(context: PoolContext, { intervals, launches = true }: PoolOptions) {
    this.#context = context;
    this.health = new LaunchHealth(context);
    this.targets = new IdleTargets(context.policy.min_idle);
    this.server = new Server(context, () => this.wake('plan launches'));
    this.provisioner = new Provisioner(context, this.health);
    this.launcher = new Launcher(context, this.health);
    this.sweeper = new Sweeper(context, this.targets);
    this.reaper = new Reaper(context);
    this.replenisher = new Replenisher(context, this.health, this.targets);
    this.offerer = new Offerer(context);
    const every = { ...POOL_INTERVALS, ...intervals };
    this.parts = [
      this.#part('serve requests', every.serve_ms, QUEUE, (signal) => this.server.runOnce(signal)),
      this.#part('end overdue runners', every.sweep_ms, DATABASE, () => this.#sweep()),
      this.#part('delete old records', every.forget_ms, DATABASE, async () =>
        (await forgetOnce(context)) ? 'again' : 'idle',
      ),
      ...this.#reportingParts(every),
      ...(launches ? this.#launchingParts(every) : []),
    ];
    this.#byName = new Map(this.parts.map((part) => [part.status.name, part]));
  }

  wake(...names: readonly PartName[]): void {
    for (const name of names) this.#byName.get(name)?.loop.wake();
  }

  #reportingParts(every: PoolIntervals): Part[] {
    const parts: Part[] = [];
    if (this.#context.backend.driver !== 'postgres')
      parts.push(this.#part('offer idle runners', every.offer_ms, QUEUE, () => this.offerer.runOnce()));
    if (this.#context.history !== undefined)
      parts.push(
        this.#part('record history', every.sample_ms, DATABASE, async () => {
          await sampleOnce(this.#context);
          return 'idle';
        }),
      );
    return parts;
  }

  #launchingParts(every: PoolIntervals): Part[] {
    return [
      this.#part('plan launches', every.provision_ms, DATABASE, () => this.#provision()),
      this.#part('keep runners idle', every.replenish_ms, DATABASE, async () => {
        if ((await this.replenisher.runOnce()) > 0) this.wake('launch runners');
        return 'idle';
      }),
      this.#part('launch runners', every.launch_ms, PROVIDER, () => this.#launch()),
      this.#part('end instances', every.terminate_ms, PROVIDER, async () => {
        await this.reaper.terminateLeaving();
        return 'idle';
      }),
      this.#part('reconcile with the provider', every.reap_ms, PROVIDER, async () => {
        await this.reaper.reconcile();
        return 'idle';
      }),
    ];
  }

  async #sweep(): Promise<'again' | 'idle'> {
    const { ended, changed, again } = await this.sweeper.runOnce();
    if (changed) this.wake('serve requests');
    if (ended > 0) this.wake('end instances', 'keep runners idle');
    return again ? 'again' : 'idle';
  }

  async #launch(): Promise<'again' | 'idle'> {
    const outcome = await this.launcher.runOnce();
    // A runner that ended during its launch gets its instance only now.
    if (outcome === 'again') this.wake('end instances');
    return outcome;
  }

  async #provision(): Promise<'again' | 'idle'> {
    const { planned, evicted } = await this.provisioner.runOnce();
    if (planned > 0) this.wake('launch runners');
    if (evicted > 0) this.wake('end instances');
    // The next request in the queue may need evictions, too.
    return evicted > 0 ? 'again' : 'idle';
  }

  #part(
    name: PartName,
    intervalMs: number,
    remedy: string,
    runOnce: (signal: AbortSignal) => Promise<'again' | 'idle'>,
  ): Part {
    const { clock, log } = this.#context;
    return new Part({ name, intervalMs, remedy, clock, log, runOnce });
  }
}

export type PartName =
  | 'serve requests'
  | 'plan launches'
  | 'keep runners idle'
  | 'launch runners'
  | 'end overdue runners'
  | 'end instances'
  | 'reconcile with the provider'
  | 'offer idle runners'
  | 'delete old records'
  | 'record history';
