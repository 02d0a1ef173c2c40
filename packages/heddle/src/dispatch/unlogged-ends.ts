import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';

/**
 * Runs that have ended and whose last log lines are still being stored: an end must not be visible without them. They no
 * longer occupy a place of the worker, so that lines of many runs are stored together.
 */
export class UnloggedEnds<Run> {
  readonly #waiting = new Map<Run, Promise<void>>();

  /** @param onLogged called once everything is stored, unless the run was abandoned before */
  add(run: Run, logged: Promise<void>, onLogged: () => void): void {
    const stored = logged.then(() => {
      if (this.#waiting.delete(run)) onLogged();
    });
    this.#waiting.set(run, stored);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits for all of them, at most `ms`; gives the rest up and returns it. */
  async giveUpAfter(clock: Clock, ms: number): Promise<Run[]> {
    await finishesWithin(clock, ms, Promise.all(this.#waiting.values()));
    const left = [...this.#waiting.keys()];
    this.#waiting.clear();
    return left;
  }
}
