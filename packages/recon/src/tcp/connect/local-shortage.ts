import type { Clock } from '@heddle/base/clock';

const PAUSE_MIN_MS = 20;
const PAUSE_MAX_MS = 1000;

/**
 * Limits concurrent connections to what this machine sustains: a shortage of ports or files halves the limit and
 * causes a pause; each success raises it by one.
 */
export class LocalShortage {
  readonly #clock: Clock;
  readonly #max: number;
  #concurrency: number;
  #pauseMs = 0;
  #pausedUntil = 0;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
    this.#concurrency = max;
  }

  /** Zero during a pause. */
  get concurrency(): number {
    if (this.#pausedUntil === 0) return this.#concurrency;
    if (this.#clock.monotonic() < this.#pausedUntil) return 0;
    this.#pausedUntil = 0;
    return this.#concurrency;
  }

  /** @param running number of other connections when one could not be made */
  met(running: number): void {
    // Connections started at the same time meet the same shortage, which counts once.
    if (this.#pausedUntil !== 0) return;
    this.#concurrency = Math.max(1, Math.floor(running / 2));
    this.#pauseMs = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, this.#pauseMs * 2));
    this.#pausedUntil = this.#clock.monotonic() + this.#pauseMs;
  }

  passed(): void {
    if (this.#concurrency < this.#max) this.#concurrency += 1;
    this.#pauseMs = 0;
  }
}
