export interface Rate {
  readonly perSecond: number;
  /** So many may be taken at once. */
  readonly burst: number;
  /** So many may be charged beyond that; 0 by default. */
  readonly debt?: number;
}

/** Buckets below this number are not worth looking through. */
const SWEPT_MIN = 4096;

/**
 * One token bucket for each key that was used lately, kept as the time at which it would be full again: a bucket that is full
 * needs no memory, so there are never more than are taken from in the time that one takes to fill.
 */
export class RateBuckets {
  readonly #fullAt = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #debtMs: number;
  #sweepAt = SWEPT_MIN;

  constructor({ perSecond, burst, debt = 0 }: Rate) {
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
    this.#debtMs = debt * this.#intervalMs;
  }

  /** Takes one. @param now monotonic, ms @returns 0, or after how many milliseconds there is one: none was taken then */
  take(key: string, now: number): number {
    const fullAt = this.#from(key, now) + this.#intervalMs;
    // A rounding error of the sum must not cost a whole interval.
    const waitMs = fullAt - now - this.#burstMs;
    if (waitMs > 1e-6) return waitMs;
    this.#set(key, fullAt, now);
    return 0;
  }

  /** Takes one, there being one or not. */
  charge(key: string, now: number): void {
    const fullAt = this.#from(key, now) + this.#intervalMs;
    this.#set(key, Math.min(fullAt, now + this.#burstMs + this.#debtMs), now);
  }

  /** Whether more was charged than there was. */
  isOverdrawn(key: string, now: number): boolean {
    return this.#from(key, now) - now > this.#burstMs + 1e-6;
  }

  #from(key: string, now: number): number {
    return Math.max(now, this.#fullAt.get(key) ?? now);
  }

  #set(key: string, fullAt: number, now: number): void {
    this.#fullAt.set(key, fullAt);
    if (this.#fullAt.size > this.#sweepAt) this.#sweep(now);
  }

  #sweep(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
    this.#sweepAt = Math.max(SWEPT_MIN, this.#fullAt.size * 2);
  }
}
