import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed } from './outcome.ts';
import type { DescribedEvent, EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from './port.ts';
import { runOn } from './run-on.ts';
import { LivingProcesses } from './start-process.ts';

interface Pooled {
  readonly process: TaskProcess;
  readonly memoryMb: number;
  /** Whose tasks it takes; null until it has had one. */
  client: string | null;
  jobs: number;
  /** It will be looked at for processes that tasks left running in it. */
  isWatched: boolean;
  /** It gets no other job. */
  isRetired: boolean;
}

/**
 * What a task leaves running has this time to end. A look costs a good part of what a small task costs, so not each task is
 * followed by one.
 */
const LOOK_AFTER_MS = 20;

/** A process ends by itself where a task left something in it, unless that holds it up. */
const SETTLE_MS_MAX = 1_000;

const NOT_STARTED = 'the process of the task could not be started; the log of the executor names the reason';

/**
 * A tier whose processes take one job after another, each of one client and with so much memory, until one goes wrong,
 * leaves something behind, or they are old. For code that is trusted.
 */
export class PooledTier implements ExecutionTier {
  readonly tier = 'pooled';
  readonly #settings: TierSettings;
  readonly #living: LivingProcesses;
  readonly #release: () => Promise<void>;
  /** Those used last stand last. */
  readonly #idle: Pooled[] = [];
  #busy = 0;

  /** @param release gives back what is not needed once nothing runs any more */
  constructor(launcher: Launcher, settings: TierSettings, release: () => Promise<void>) {
    this.#settings = settings;
    this.#release = release;
    this.#living = new LivingProcesses(launcher, settings);
  }

  async run(job: Job, hooks: JobHooks): Promise<JobOutcome> {
    if (hooks.signal.aborted) return failed('CANCELED', 'the task was canceled');
    const { log } = this.#settings;
    let pooled: Pooled;
    this.#busy += 1;
    try {
      pooled = await this.#take(job);
    } catch (error) {
      this.#busy -= 1;
      log.error({ err: error, tier: this.tier }, 'A process for tasks could not be started');
      return failed('INTERNAL', NOT_STARTED);
    }
    const { process } = pooled;
    pooled.jobs += 1;
    try {
      const outcome = await runOn(process, job, hooks, this.#settings);
      if (process.worker.isLost) await process.gone;
      return outcome;
    } catch (error) {
      process.kill();
      log.error({ err: error, correlation_id: job.correlation_id }, 'A task could not be run');
      return failed('INTERNAL', 'the executor failed; its log names the reason');
    } finally {
      this.#busy -= 1;
      this.#giveBack(pooled);
    }
  }

  async #take({ client, memory_mb }: Job): Promise<Pooled> {
    for (let pooled = this.#idleFor(client, memory_mb); pooled; pooled = this.#idleFor(client, memory_mb)) {
      pooled.client = client;
      const cancel = this.#settings.clock.after(SETTLE_MS_MAX, () => pooled.process.kill());
      const isSettled = await pooled.process.worker.settled;
      cancel();
      if (isSettled && !pooled.process.worker.isLost) return pooled;
      pooled.process.kill();
    }
    // There are never more processes than jobs that can run.
    if (this.#busy + this.#idle.length > this.#settings.workers) this.#idle.shift()?.process.kill();
    return { ...pooledOf(await this.#living.start(null, memory_mb), memory_mb), client };
  }

  /** One that had this client's tasks, else one that had nobody's yet. */
  #idleFor(client: string | null, memoryMb: number): Pooled | undefined {
    const lastOf = (owner: string | null): number =>
      this.#idle.findLastIndex((pooled) => pooled.client === owner && pooled.memoryMb === memoryMb);
    const own = lastOf(client);
    const at = own >= 0 ? own : lastOf(null);
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  #giveBack(pooled: Pooled): void {
    const { process, jobs, isRetired } = pooled;
    const isFit =
      !isRetired && !process.worker.isLost && !this.#living.isClosed && jobs < this.#settings.jobsPerProcess;
    if (isFit) this.#idle.push(pooled);
    else process.kill();
    this.#lookLater(pooled);
  }

  /** What a task left running must not be there for long. */
  #lookLater(pooled: Pooled): void {
    if (pooled.isWatched || pooled.process.worker.isLost) return;
    pooled.isWatched = true;
    this.#settings.clock.after(LOOK_AFTER_MS, () => {
      pooled.isWatched = false;
      const { worker } = pooled.process;
      if (worker.isLost) return;
      if (pooled.process.hasStrays()) this.#retire(pooled);
    });
  }

  #retire(pooled: Pooled): void {
    pooled.isRetired = true;
    const at = this.#idle.indexOf(pooled);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!pooled.process.worker.isBusy) pooled.process.kill();
  }

  describe(code: EventCode): Promise<readonly DescribedEvent[]> {
    return this.#living.describe(code);
  }

  warm(_code: EventCode, memoryMb: number): void {
    const isThere = this.#idle.some((pooled) => pooled.memoryMb === memoryMb);
    if (this.#living.isClosed || isThere || this.#idle.length + this.#busy >= this.#settings.workers) return;
    this.#living
      .start(null, memoryMb)
      .then((process) => this.#giveBack(pooledOf(process, memoryMb)))
      .catch((error: unknown) => this.#settings.log.warn({ err: error }, 'A process could not be started ahead'));
  }

  async close(): Promise<void> {
    await this.#living.close();
    await this.#release();
  }
}

function pooledOf(process: TaskProcess, memoryMb: number): Pooled {
  return { process, memoryMb, client: null, jobs: 0, isWatched: false, isRetired: false };
}
