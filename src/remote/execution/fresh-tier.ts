import type { Tier } from '../protocol/messages.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed } from './outcome.ts';
import type { DescribedEvent, EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from './port.ts';
import { runOn } from './run-on.ts';
import { Spares } from './spares.ts';
import { identityOf } from './stage.ts';
import { type Ahead, LivingProcesses } from './start-process.ts';

const NOT_STARTED = 'the process of the task could not be started; the log of the executor names the reason';

/** To end a process takes the kernel milliseconds, to start one more: the answer to the task that used it goes out before. */
const REPLACE_AFTER_MS = 10;

/** Code that takes longer to load, where it leaves the processor to others, is not loaded ahead any more. */
const LOAD_AHEAD_MS = 30_000;
/** So much code is remembered to be of that kind. */
const SLOW_MAX = 100;

/** A tier whose processes take one job each. */
export class FreshTier implements ExecutionTier {
  readonly tier: Tier;
  readonly #settings: TierSettings;
  readonly #living: LivingProcesses;
  readonly #spares: Spares;
  readonly #release: () => Promise<void>;
  /** What was too long in loading. */
  readonly #slow = new Set<string>();

  /** @param release gives back what is not needed once nothing runs any more */
  constructor(launcher: Launcher, settings: TierSettings, release: () => Promise<void>) {
    this.tier = launcher.tier;
    this.#settings = settings;
    this.#release = release;
    this.#living = new LivingProcesses(launcher, settings);
    const { workers, spareIdleMs, clock, log } = settings;
    this.#spares = new Spares(workers, spareIdleMs, clock, (error) => {
      if (!this.#living.isClosed) log.warn({ err: error, tier: this.tier }, 'A process could not be started ahead');
    });
  }

  async run(job: Job, hooks: JobHooks): Promise<JobOutcome> {
    if (hooks.signal.aborted) return failed('CANCELED', 'the task was canceled');
    const { code, memory_mb } = job;
    const { log } = this.#settings;
    let process: TaskProcess;
    let key: string;
    try {
      key = keyOf(code, memory_mb);
      const spare = await this.#spares.take(key, () => this.#startAhead(code, memory_mb, key));
      process = spare ?? (await this.#living.start(code, memory_mb));
    } catch (error) {
      log.error({ err: error, tier: this.tier }, 'A process for a task could not be started');
      return failed('INTERNAL', NOT_STARTED);
    }
    try {
      const outcome = await runOn(process, job, hooks, this.#settings);
      this.#tellOutput(process, job);
      if (outcome.status === 'error') {
        // What went wrong is gone, with all that it started, before anybody hears of it.
        process.kill();
        await process.gone;
      }
      return outcome;
    } catch (error) {
      process.kill();
      log.error({ err: error, correlation_id: job.correlation_id }, 'A task could not be run');
      return failed('INTERNAL', 'the executor failed; its log names the reason');
    } finally {
      this.#settings.clock.after(REPLACE_AFTER_MS, () => this.#replace(process, key));
    }
  }

  #replace(process: TaskProcess, key: string): void {
    // Nor does its end take the processor from anybody who waits.
    if (!process.worker.isGone) process.stepBehind();
    process.kill();
    this.#spares.refill(key);
  }

  describe(code: EventCode): Promise<readonly DescribedEvent[]> {
    return this.#living.describe(code);
  }

  warm(code: EventCode, memoryMb: number): void {
    if (this.#living.isClosed) return;
    try {
      const key = keyOf(code, memoryMb);
      this.#spares.warm(key, () => this.#startAhead(code, memoryMb, key));
    } catch (error) {
      this.#settings.log.debug({ err: error }, 'Code to be warmed is not there');
    }
  }

  async close(): Promise<void> {
    this.#spares.close();
    await this.#living.close();
    await this.#release();
  }

  #startAhead(code: EventCode, memoryMb: number, key: string): Ahead {
    const { ready, hasten } = this.#living.startAhead(code, memoryMb);
    return { ready: ready.then((process) => this.#loadAhead(process, code, key)), hasten };
  }

  /** The code is there before the task that needs it: its process is its own all the same. */
  async #loadAhead(process: TaskProcess, code: EventCode, key: string): Promise<TaskProcess> {
    if (this.#slow.has(key)) return process;
    const { clock, log } = this.#settings;
    let url: string;
    try {
      url = await process.urlOf(code);
    } catch (error) {
      // The code has gone meanwhile.
      process.kill();
      throw error;
    }
    const cancel = clock.after(LOAD_AHEAD_MS, () => {
      // One that has a job is held to the time of that.
      if (process.worker.isBusy) return;
      log.warn(
        { entry: code.entry, digest: code.digest },
        'Code takes too long to load to be loaded ahead of its tasks',
      );
      if (this.#slow.size >= SLOW_MAX) this.#slow.clear();
      this.#slow.add(key);
      process.kill();
    });
    void process.worker.load(url).then(cancel);
    return process;
  }

  #tellOutput(process: TaskProcess, job: Job): void {
    const { stdout, stderr } = process.worker;
    const bytes = stdout.bytes + stderr.bytes;
    if (bytes === 0) return;
    const { correlation_id } = job;
    this.#settings.onOutput({ correlation_id, stdout: stdout.text, stderr: stderr.text, bytes });
  }
}

function keyOf(code: EventCode, memoryMb: number): string {
  return `${code.digest}\0${code.entry}\0${identityOf(code.directory)}\0${memoryMb}`;
}
