/** Work claimed ahead of the executors, as time in milliseconds. */
const AHEAD_MS = 50;
/** Minimum window over which the rate is measured, milliseconds. */
const WINDOW_MS = 5;

/**
 * Decides how many tasks to claim beyond those that can run now: about as many as finish within the time ahead. Quick
 * tasks are claimed in large sets, and slow ones are left to workers with a free executor.
 */
export class FetchAhead {
  readonly #max: number;
  #ended = 0;
  #windowStartMs: number;
  #ahead = 0;

  constructor(max: number, nowMs: number) {
    this.#max = max;
    this.#windowStartMs = nowMs;
  }

  get tasks(): number {
    return this.#ahead;
  }

  /** Records finished tasks; `nowMs` is monotonic. */
  noteEnded(count: number, nowMs: number): void {
    this.#ended += count;
    const elapsedMs = nowMs - this.#windowStartMs;
    if (elapsedMs < WINDOW_MS) return;
    const wanted = Math.min(this.#max, Math.floor((this.#ended / elapsedMs) * AHEAD_MS));
    // Limiting the drop to a half keeps one long pause (a slow claim, a garbage collection) from emptying the queue.
    this.#ahead = Math.max(wanted, this.#ahead >> 1);
    this.#ended = 0;
    this.#windowStartMs = nowMs;
  }
}
