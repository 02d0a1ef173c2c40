import type { Clock } from '@heddle/base/clock';

/** Weight of the newest run in the moving average. */
const RUN_WEIGHT = 0.1;
/** Window for measuring the completion rate. */
const WINDOW_MS = 10_000;
const RETRY_SECS_MIN = 1;
const RETRY_SECS_MAX = 60;
/** Used before anything was measured. */
const RETRY_SECS_UNKNOWN = 5;
/** Runs shorter than this are fast: the latency of a journal commit would be noticeable between them. */
const FAST_RUN_MS = 25;

/** Measures how fast tasks complete. */
export class Throughput {
  readonly #clock: Clock;
  #meanRunMs: number | null = null;
  /** Completions in the current window, and its start. */
  #ends = 0;
  #since: number;
  #perSecond: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  noteRun(durationMs: number): void {
    this.#meanRunMs =
      this.#meanRunMs === null ? durationMs : this.#meanRunMs + (durationMs - this.#meanRunMs) * RUN_WEIGHT;
    this.#ends += 1;
    const elapsedMs = this.#clock.monotonic() - this.#since;
    if (elapsedMs >= WINDOW_MS) this.#closeWindow(elapsedMs);
  }

  /** Whether tasks are short enough to record starts ahead. */
  get isFast(): boolean {
    return this.#meanRunMs !== null && this.#meanRunMs < FAST_RUN_MS;
  }

  /** Estimates the seconds until half of the waiting tasks have been served. */
  retryAfterSecs(waiting: number): number {
    const elapsedMs = this.#clock.monotonic() - this.#since;
    const now = elapsedMs > 0 && this.#ends > 0 ? (this.#ends / Math.max(elapsedMs, 1000)) * 1000 : null;
    const perSecond = now ?? (elapsedMs < WINDOW_MS ? this.#perSecond : null);
    if (perSecond === null || perSecond === 0) return RETRY_SECS_UNKNOWN;
    return Math.min(RETRY_SECS_MAX, Math.max(RETRY_SECS_MIN, Math.ceil(waiting / 2 / perSecond)));
  }

  #closeWindow(elapsedMs: number): void {
    this.#perSecond = (this.#ends / elapsedMs) * 1000;
    this.#ends = 0;
    this.#since = this.#clock.monotonic();
  }
}
