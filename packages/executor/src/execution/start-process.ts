import { messageOf } from '@heddle/base/thrown';
import { describedEvents, unavailable } from './description.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { howEnded } from './outcome.ts';
import type { DescribedEvent, EventCode } from './port.ts';

/** A process started before a task needs it. */
export interface Ahead {
  /** Resolves once it can take a job; rejects if it never can. */
  readonly ready: Promise<TaskProcess>;
  /** Raises its priority because a task is waiting. */
  readonly raise: () => void;
}

/** Factor on the start timeout for low-priority processes, which start slower on a busy machine. */
const AHEAD_START_FACTOR = 6;

/** All processes of one tier that are not gone; none can be started after it is closed. */
export class LivingProcesses {
  readonly #launcher: Launcher;
  readonly #settings: TierSettings;
  readonly #living = new Set<TaskProcess>();
  readonly #starting = new Set<Promise<TaskProcess>>();
  #isClosed = false;

  constructor(launcher: Launcher, settings: TierSettings) {
    this.#launcher = launcher;
    this.#settings = settings;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @returns once it can take a job @throws Error if it never can */
  start(code: EventCode | null, memoryMb: number): Promise<TaskProcess> {
    return this.#start(this.#launchTracked(code, memoryMb, false), this.#settings.startMs);
  }

  /** Starts a process like `start`, but at low priority until it is raised. */
  startAhead(code: EventCode, memoryMb: number): Ahead {
    const { startMs } = this.#settings;
    const launched = this.#launchTracked(code, memoryMb, true);
    const raise = (): void => {
      const restorePriority = (process: TaskProcess): void => {
        process.restorePriority();
        this.#killIfLate(process, startMs);
      };
      void launched.then(restorePriority).catch(() => undefined);
    };
    return { ready: this.#start(launched, startMs * AHEAD_START_FACTOR), raise };
  }

  #launchTracked(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    if (this.#isClosed) return Promise.reject(new Error('the tier is closed'));
    const launched = this.#launch(code, memoryMb, behind);
    this.#starting.add(launched);
    return launched.finally(() => this.#starting.delete(launched));
  }

  async #start(launched: Promise<TaskProcess>, withinMs: number): Promise<TaskProcess> {
    const process = await launched;
    this.#killIfLate(process, withinMs);
    if (await process.worker.ready) {
      try {
        await process.confine();
        return process;
      } catch (error) {
        process.kill();
        throw error;
      }
    }
    process.kill();
    const ended = await process.worker.ended;
    const errorOutput = process.worker.stderr.text.trim();
    throw new Error(
      `a process of the tier ${this.#launcher.tier} failed to start: ${howEnded(ended)} ${errorOutput}`.trim(),
    );
  }

  /** Kills a process that is not ready in time. */
  #killIfLate(process: TaskProcess, withinMs: number): void {
    const cancel = this.#settings.clock.after(withinMs, () => process.kill());
    void process.worker.ready.then(cancel);
  }

  async #launch(code: EventCode | null, memoryMb: number, behind: boolean): Promise<TaskProcess> {
    const process = await this.#launcher.start(code, memoryMb, behind);
    this.#living.add(process);
    void process.gone.then(() => this.#living.delete(process));
    // The tier may have been closed in the meantime.
    if (this.#isClosed) process.kill();
    return process;
  }

  /** @throws RemoteFailure EVENT_UNAVAILABLE */
  async describe(code: EventCode): Promise<readonly DescribedEvent[]> {
    const { clock, describeMs, memoryMb } = this.#settings;
    const process = await this.start(code, memoryMb).catch((error: unknown) => {
      throw unavailable(messageOf(error));
    });
    const late = new AbortController();
    const cancel = clock.after(describeMs, () => {
      late.abort();
      process.kill();
    });
    try {
      const answer = await process.worker.describe(await process.urlOf(code));
      if (late.signal.aborted) throw unavailable(`it took longer than ${describeMs / 1_000} s to load`);
      return describedEvents(answer, () => process.traces());
    } finally {
      cancel();
      process.kill();
      await process.gone;
    }
  }

  /** Kills all processes. @returns once they are gone */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#starting);
    for (const process of this.#living) process.kill();
    await Promise.all(Array.from(this.#living, (process) => process.gone));
    await this.#launcher.close();
  }
}
