import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed } from './outcome.ts';
import type { DescribedEvent, EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from './port.ts';
import { runOn } from './run-on.ts';
import { LivingProcesses } from './start-process.ts';

interface Pooled {
  readonly process: TaskProcess;
  readonly memoryMb: number;
  /** The client whose tasks it runs; null before its first task. */
  client: string | null;
  jobs: number;
  /** Whether a check for leftover processes is scheduled. */
  isCheckScheduled: boolean;
  /** Whether it gets no further jobs. */
  isRetired: boolean;
}

/**
 * Time for leftovers of a task to end. A check costs about as much as a small task, so not every task triggers one.
 */
const STRAY_CHECK_DELAY_MS = 20;

/** A process with leftovers ends by itself within this time, unless they block it. */
const SETTLE_MS_MAX = 1_000;

const NOT_STARTED = "the task process could not be started; see the executor's log";

/**
 * A tier whose processes run consecutive jobs of one client with one memory limit, until one fails, leaves something
 * behind, or is old. For trusted code.
 */
export class PooledTier implements ExecutionTier {
  readonly tier = 'pooled';
  readonly #settings: TierSettings;
  readonly #living: LivingProcesses;
  readonly #release: () => Promise<void>;
  /** Idle processes, most recently used last. */
  readonly #idle: Pooled[] = [];
  #busy = 0;

  /** @param release frees shared resources once no process is left */
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
      log.error({ err: error, tier: this.tier }, 'could not start a task process');
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
      log.error({ err: error, correlation_id: job.correlation_id }, 'could not run a task');
      return failed('INTERNAL', 'the executor failed; see its log');
    } finally {
      this.#busy -= 1;
      this.#returnToPool(pooled);
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
    // The number of processes never exceeds the number of concurrent jobs.
    if (this.#busy + this.#idle.length > this.#settings.workers) this.#idle.shift()?.process.kill();
    return { ...pooledOf(await this.#living.start(null, memory_mb), memory_mb), client };
  }

  /** Returns an idle process of this client, or else one that no client has used. */
  #idleFor(client: string | null, memoryMb: number): Pooled | undefined {
    const lastOf = (owner: string | null): number =>
      this.#idle.findLastIndex((pooled) => pooled.client === owner && pooled.memoryMb === memoryMb);
    const own = lastOf(client);
    const at = own >= 0 ? own : lastOf(null);
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  #returnToPool(pooled: Pooled): void {
    const { process, jobs, isRetired } = pooled;
    const isFit =
      !isRetired && !process.worker.isLost && !this.#living.isClosed && jobs < this.#settings.jobsPerProcess;
    if (isFit) this.#idle.push(pooled);
    else process.kill();
    this.#scheduleStrayCheck(pooled);
  }

  /** Schedules a check for processes that a task left running. */
  #scheduleStrayCheck(pooled: Pooled): void {
    if (pooled.isCheckScheduled || pooled.process.worker.isLost) return;
    pooled.isCheckScheduled = true;
    this.#settings.clock.after(STRAY_CHECK_DELAY_MS, () => {
      pooled.isCheckScheduled = false;
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
      .then((process) => this.#returnToPool(pooledOf(process, memoryMb)))
      .catch((error: unknown) => this.#settings.log.warn({ err: error }, 'could not start a spare process'));
  }

  async close(): Promise<void> {
    await this.#living.close();
    await this.#release();
  }
}

function pooledOf(process: TaskProcess, memoryMb: number): Pooled {
  return { process, memoryMb, client: null, jobs: 0, isCheckScheduled: false, isRetired: false };
}
