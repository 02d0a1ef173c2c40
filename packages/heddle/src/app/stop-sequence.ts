import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';
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
    const stopped = Promise.resolve()
      .then(stop)
      .catch((error: unknown) => this.#log.warn({ err: error, part: name }, `${name} failed to stop`));
    if (!(await finishesWithin(this.#clock, STEP_MAX_MS, stopped)))
      this.#log.warn({ part: name }, `${name} did not stop within ${STEP_MAX_MS / 1000} s; continuing`);
  }
}
