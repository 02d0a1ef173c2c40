/** How much work, in time, is claimed ahead of the executors, milliseconds. */
const AHEAD_MS = 50;
/** Shortest stretch over which the rate is measured, milliseconds. */
const WINDOW_MS = 5;

/**
 * Decides how many tasks to claim beyond those that can run now: about as many as end within a moment. So quick tasks come
 * in large sets, and slow ones are left to whoever has an executor free.
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

  /** Notes that tasks ended; `nowMs` is monotonic. */
  noteEnded(count: number, nowMs: number): void {
    this.#ended += count;
    const elapsedMs = nowMs - this.#windowStartMs;
    if (elapsedMs < WINDOW_MS) return;
    const wanted = Math.min(this.#max, Math.floor((this.#ended / elapsedMs) * AHEAD_MS));
    // Halving at most keeps one long pause (a slow claim, a collection of garbage) from emptying the line.
    this.#ahead = Math.max(wanted, this.#ahead >> 1);
    this.#ended = 0;
    this.#windowStartMs = nowMs;
  }
}
