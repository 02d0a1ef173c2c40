import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed } from './outcome.ts';
import type { DescribedEvent, EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from './port.ts';
import { runOn } from './run-on.ts';
import { LivingProcesses } from './start-process.ts';

interface Pooled {
  readonly process: TaskProcess;
  jobs: number;
  /** It will be looked at for processes that tasks left running in it. */
  isWatched: boolean;
  /** It gets no other job. */
  isRetired: boolean;
}

/** A look costs a good part of what a small task costs, so not each task is followed by one. */
const LOOK_AFTER_MS = 20;

const NOT_STARTED = 'the process of the task could not be started; the log of the executor names the reason';

/** A tier whose processes take one job after another, until one goes wrong or they are old. For code that is trusted. */
export class PooledTier implements ExecutionTier {
  readonly tier = 'pooled';
  readonly #settings: TierSettings;
  readonly #living: LivingProcesses;
  readonly #release: () => Promise<void>;
  readonly #idle: Pooled[] = [];

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
    try {
      pooled = await this.#take();
    } catch (error) {
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
      this.#giveBack(pooled);
    }
  }

  async #take(): Promise<Pooled> {
    for (let pooled = this.#idle.pop(); pooled !== undefined; pooled = this.#idle.pop()) {
      if (!pooled.process.worker.isLost) return pooled;
      pooled.process.kill();
    }
    return pooledOf(await this.#living.start(null, this.#settings.memoryMb));
  }

  #giveBack(pooled: Pooled): void {
    const { process, jobs, isRetired } = pooled;
    const { jobsPerProcess, workers } = this.#settings;
    const isFit = !isRetired && !process.worker.isLost && !this.#living.isClosed && jobs < jobsPerProcess;
    if (isFit && this.#idle.length < workers) this.#idle.push(pooled);
    else process.kill();
    this.#lookLater(pooled);
  }

  /** What a task left running must not be there for long. */
  #lookLater(pooled: Pooled): void {
    if (pooled.isWatched || pooled.process.worker.isLost) return;
    pooled.isWatched = true;
    this.#settings.clock.after(LOOK_AFTER_MS, () => {
      pooled.isWatched = false;
      if (pooled.process.worker.isLost || !pooled.process.hasStrays()) return;
      pooled.isRetired = true;
      const at = this.#idle.indexOf(pooled);
      if (at < 0) return;
      this.#idle.splice(at, 1);
      pooled.process.kill();
    });
  }

  describe(code: EventCode): Promise<readonly DescribedEvent[]> {
    return this.#living.describe(code);
  }

  warm(): void {
    if (this.#living.isClosed || this.#idle.length > 0) return;
    this.#living
      .start(null, this.#settings.memoryMb)
      .then((process) => this.#giveBack(pooledOf(process)))
      .catch((error: unknown) => this.#settings.log.warn({ err: error }, 'A process could not be started ahead'));
  }

  async close(): Promise<void> {
    await this.#living.close();
    await this.#release();
  }
}

function pooledOf(process: TaskProcess): Pooled {
  return { process, jobs: 0, isWatched: false, isRetired: false };
}
