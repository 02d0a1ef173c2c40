import { describedEvents, unavailable } from './description.ts';
import type { Launcher, TaskProcess } from './launcher.ts';
import type { TierSettings } from './options.ts';
import { howEnded } from './outcome.ts';
import type { DescribedEvent, EventCode } from './port.ts';

/** Processes of one tier that are not gone; none is started once it is closed. */
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

  /** @returns once it can take a job @throws Error where it never will */
  async start(code: EventCode | null, memoryMb: number): Promise<TaskProcess> {
    if (this.#isClosed) throw new Error('the tier is closed');
    const beginning = this.#begin(code, memoryMb);
    this.#starting.add(beginning);
    const process = await beginning.finally(() => this.#starting.delete(beginning));
    const cancel = this.#settings.clock.after(this.#settings.startMs, () => process.kill());
    const isReady = await process.worker.ready;
    cancel();
    if (isReady) {
      try {
        process.confine();
        return process;
      } catch (error) {
        process.kill();
        throw error;
      }
    }
    process.kill();
    const ended = await process.worker.ended;
    const said = process.worker.stderr.text.trim();
    throw new Error(`a process of the tier ${this.#launcher.tier} did not start: ${howEnded(ended)} ${said}`.trim());
  }

  async #begin(code: EventCode | null, memoryMb: number): Promise<TaskProcess> {
    const process = await this.#launcher.start(code, memoryMb);
    this.#living.add(process);
    void process.gone.then(() => this.#living.delete(process));
    // It may have been closed since.
    if (this.#isClosed) process.kill();
    return process;
  }

  /** @throws RemoteFailure EVENT_UNAVAILABLE */
  async describe(code: EventCode): Promise<readonly DescribedEvent[]> {
    const { clock, describeMs, memoryMb } = this.#settings;
    const process = await this.start(code, memoryMb).catch((error: unknown) => {
      throw unavailable(error instanceof Error ? error.message : String(error));
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

  /** Ends all of them. @returns once they are gone */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#starting);
    for (const process of this.#living) process.kill();
    await Promise.all(Array.from(this.#living, (process) => process.gone));
    await this.#launcher.close();
  }
}
