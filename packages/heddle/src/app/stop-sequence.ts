import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';

interface Step {
  name: string;
  stop: () => Promise<unknown>;
}

/** Longest time that one part may take to stop; the others are stopped regardless. */
const STEP_MAX_MS = 8_000;

/** Stops what was started, in reverse order, each part within a limited time. */
export class StopSequence {
  readonly #steps: Step[] = [];
  readonly #clock: Clock;
  readonly #log: Logger;
  #stopped: Promise<void> | undefined;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  add(name: string, stop: () => Promise<unknown>): void {
    this.#steps.push({ name, stop });
  }

  /** Stops everything; a part that fails or hangs is logged and does not keep the others running. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) await this.#stopOne(step);
  }

  async #stopOne({ name, stop }: Step): Promise<void> {
    const over = new AbortController();
    const stopped = Promise.resolve()
      .then(stop)
      .then(
        () => true,
        (error: unknown) => {
          this.#log.warn({ err: error, part: name }, `${name} failed to stop`);
          return true;
        },
      );
    const inTime = await Promise.race([stopped, this.#clock.sleep(STEP_MAX_MS, over.signal).then(() => false)]);
    over.abort();
    if (!inTime) this.#log.warn({ part: name }, `${name} did not stop within ${STEP_MAX_MS / 1000} s; continuing`);
  }
}
