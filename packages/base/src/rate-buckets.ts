export interface Rate {
  readonly perSecond: number;
  /** Capacity of a bucket. */
  readonly burst: number;
  /** Maximum debt beyond the capacity; 0 by default. */
  readonly debt?: number;
  /** Buckets that are kept at most: beyond them, those that were created first are full again. Unlimited by default. */
  readonly bucketsMax?: number;
}

/** Number of buckets below which cleanup is not worthwhile. */
const SWEPT_MIN = 4096;

/**
 * Token buckets by key, each stored as the time at which it would be full again: a full bucket needs no memory, so at
 * most the keys used within one refill time are stored.
 */
export class RateBuckets {
  readonly #fullAt = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #debtMs: number;
  readonly #bucketsMax: number;
  #sweepAt = SWEPT_MIN;

  constructor({ perSecond, burst, debt = 0, bucketsMax = Infinity }: Rate) {
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = burst * this.#intervalMs;
    this.#debtMs = debt * this.#intervalMs;
    this.#bucketsMax = bucketsMax;
  }

  /**
   * Takes one token. @param now monotonic, ms @returns 0, or the milliseconds until one is available; none was taken
   * then
   */
  take(key: string, now: number): number {
    const fullAt = this.#from(key, now) + this.#intervalMs;
    // A rounding error of the sum must not cost a whole interval.
    const waitMs = fullAt - now - this.#burstMs;
    if (waitMs > 1e-6) return waitMs;
    this.#set(key, fullAt, now);
    return 0;
  }

  /** Takes one token, available or not. */
  charge(key: string, now: number): void {
    const fullAt = this.#from(key, now) + this.#intervalMs;
    this.#set(key, Math.min(fullAt, now + this.#burstMs + this.#debtMs), now);
  }

  /** Returns a token that was taken. */
  refund(key: string, now: number): void {
    const fullAt = this.#from(key, now) - this.#intervalMs;
    if (fullAt > now) this.#fullAt.set(key, fullAt);
    else this.#fullAt.delete(key);
  }

  /** Whether nothing is missing from the bucket. */
  isFull(key: string, now: number): boolean {
    return this.#from(key, now) === now;
  }

  /** Whether more was taken than available. */
  isOverdrawn(key: string, now: number): boolean {
    return this.#from(key, now) - now > this.#burstMs + 1e-6;
  }

  #from(key: string, now: number): number {
    return Math.max(now, this.#fullAt.get(key) ?? now);
  }

  #set(key: string, fullAt: number, now: number): void {
    this.#fullAt.set(key, fullAt);
    if (this.#fullAt.size > this.#sweepAt) this.#sweep(now);
    if (this.#fullAt.size > this.#bucketsMax) this.#fullAt.delete(this.#fullAt.keys().next().value!);
  }

  #sweep(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key);
    this.#sweepAt = Math.max(SWEPT_MIN, this.#fullAt.size * 2);
  }
}
