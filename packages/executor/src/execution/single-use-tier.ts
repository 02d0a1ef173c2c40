import type { Tier } from '../protocol/messages.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { failed } from './outcome.ts';
import type { DescribedEvent, EventCode, ExecutionTier, Job, JobHooks, JobOutcome } from './port.ts';
import { runOn } from './run-on.ts';
import { Spares } from './spares.ts';
import { identityOf } from './stage.ts';
import { type Ahead, LivingProcesses } from './start-process.ts';

const NOT_STARTED = "the task process could not be started; see the executor's log";

/**
 * Delay before a process is killed and replaced, which costs milliseconds of kernel time, so that the task's response
 * goes out first.
 */
const REPLACE_AFTER_MS = 10;

/** Code that loads slower than this at low priority is no longer preloaded. */
const LOAD_AHEAD_MS = 30_000;
/** Limit of remembered slow code. */
const SLOW_MAX = 100;

/** A tier whose processes run one job each. */
export class SingleUseTier implements ExecutionTier {
  readonly tier: Tier;
  readonly #settings: TierSettings;
  readonly #living: LivingProcesses;
  readonly #spares: Spares;
  readonly #release: () => Promise<void>;
  /** Keys of code that is too slow to preload. */
  readonly #slow = new Set<string>();

  /** @param release frees shared resources once no process is left */
  constructor(launcher: Launcher, settings: TierSettings, release: () => Promise<void>) {
    this.tier = launcher.tier;
    this.#settings = settings;
    this.#release = release;
    this.#living = new LivingProcesses(launcher, settings);
    const { workers, spareIdleMs, clock, log } = settings;
    this.#spares = new Spares(workers, spareIdleMs, clock, (error) => {
      if (!this.#living.isClosed) log.warn({ err: error, tier: this.tier }, 'could not start a spare process');
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
      log.error({ err: error, tier: this.tier }, 'could not start a task process');
      return failed('INTERNAL', NOT_STARTED);
    }
    try {
      const outcome = await runOn(process, job, hooks, this.#settings);
      this.#reportOutput(process, job);
      if (outcome.status === 'error') {
        // The process and its descendants are gone before the failure is reported.
        process.kill();
        await process.gone;
      }
      return outcome;
    } catch (error) {
      process.kill();
      log.error({ err: error, correlation_id: job.correlation_id }, 'could not run a task');
      return failed('INTERNAL', 'the executor failed; see its log');
    } finally {
      this.#settings.clock.after(REPLACE_AFTER_MS, () => this.#replace(process, key));
    }
  }

  #replace(process: TaskProcess, key: string): void {
    // The exit of the process must not compete with waiting tasks.
    if (!process.worker.isGone) process.lowerPriority();
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
      this.#settings.log.debug({ err: error }, 'code to preload is missing');
    }
  }

  async close(): Promise<void> {
    this.#spares.close();
    await this.#living.close();
    await this.#release();
  }

  #startAhead(code: EventCode, memoryMb: number, key: string): Ahead {
    const { ready, raise } = this.#living.startAhead(code, memoryMb);
    return { ready: ready.then((process) => this.#loadAhead(process, code, key)), raise };
  }

  /** Preloads the code before a task needs it; the process still runs one job only. */
  async #loadAhead(process: TaskProcess, code: EventCode, key: string): Promise<TaskProcess> {
    if (this.#slow.has(key)) return process;
    const { clock, log } = this.#settings;
    let url: string;
    try {
      url = await process.urlOf(code);
    } catch (error) {
      // The code has been removed meanwhile.
      process.kill();
      throw error;
    }
    const cancel = clock.after(LOAD_AHEAD_MS, () => {
      // A process with a job is limited by the job's timeout.
      if (process.worker.isBusy) return;
      log.warn({ entry: code.entry, digest: code.digest }, 'code loads too slowly; no longer preloading it');
      if (this.#slow.size >= SLOW_MAX) this.#slow.clear();
      this.#slow.add(key);
      process.kill();
    });
    void process.worker.load(url).then(cancel);
    return process;
  }

  #reportOutput(process: TaskProcess, job: Job): void {
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
