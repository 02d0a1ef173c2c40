import type { Clock } from '../../runtime/clock.ts';
import type { Pace } from './port.ts';

export interface PaceOptions {
  readonly clock: Clock;
  /** Packets a second in all; Infinity is no limit. */
  readonly rate: number;
  /** Packets a second to one host; Infinity is no limit. */
  readonly host_rate: number;
}

/** So much of a second may leave at once. */
const BURST_SECS = 0.01;
const FAST_RATE = 1000;
const FAST_BURST_MIN = 16;

/** Loss beyond this share lowers the rate. */
const LOSS_MAX = 0.05;
const DECREASE = 0.7;
/** Of the limit, each time that nothing was lost. */
const INCREASE = 0.05;
/** The rate is never lowered below this, packets a second. */
const RATE_MIN = 10;
const DECISION_INTERVAL_MS = 100;
const DECISION_SENT_MIN = 50;
/** Buckets below this number are not worth looking through. */
const HOSTS_SWEPT_MIN = 4096;

/** Packets that may leave at once at a rate. */
export function burstOf(rate: number): number {
  return Math.max(rate >= FAST_RATE ? FAST_BURST_MIN : 1, Math.floor(rate * BURST_SECS));
}

/** Token buckets on the monotonic clock. In any window of t seconds, at most rate × t + burst packets are let through. */
export function createPace({ clock, rate, host_rate }: PaceOptions): Pace {
  return new TokenBuckets(clock, rate, host_rate);
}

class TokenBuckets implements Pace {
  readonly #clock: Clock;
  readonly #adaptive: AdaptiveRate;
  readonly #hosts: HostBuckets | null;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, rate: number, hostRate: number) {
    this.#clock = clock;
    this.#adaptive = new AdaptiveRate(rate, clock.monotonic());
    this.#hosts = hostRate === Infinity ? null : new HostBuckets(hostRate);
    this.#tokens = burstOf(rate);
    this.#filledAt = clock.monotonic();
  }

  get rate(): number {
    return this.#adaptive.rate;
  }

  take(host: string): number {
    const now = this.#clock.monotonic();
    const limited = this.rate !== Infinity;
    if (limited) {
      this.#fill(now);
      if (this.#tokens < 1) return this.#waitMs(1);
    }
    const waitMs = this.#hosts === null ? 0 : this.#hosts.take(host, now);
    if (waitMs > 0) return waitMs;
    if (limited) this.#tokens -= 1;
    this.#adaptive.taken += 1;
    return 0;
  }

  available(max: number): number {
    if (this.rate === Infinity) return max;
    this.#fill(this.#clock.monotonic());
    return Math.min(max, Math.floor(this.#tokens));
  }

  observe(sent: number, answered: number): void {
    const now = this.#clock.monotonic();
    // What was earned so far was earned at the old rate.
    if (this.rate !== Infinity) this.#fill(now);
    const before = this.rate;
    this.#adaptive.observe(sent, answered, now);
    if (this.rate === before) return;
    if (before === Infinity) this.#filledAt = now;
    this.#tokens = this.rate === Infinity ? 0 : Math.min(before === Infinity ? 0 : this.#tokens, burstOf(this.rate));
  }

  #fill(now: number): void {
    const rate = this.rate;
    this.#tokens = Math.min(burstOf(rate), this.#tokens + ((now - this.#filledAt) * rate) / 1000);
    this.#filledAt = now;
  }

  #waitMs(tokens: number): number {
    return ((tokens - this.#tokens) * 1000) / this.rate;
  }
}

/**
 * One bucket for each host that was sent to lately, kept as the time at which it would be full again: a bucket that is full
 * needs no memory, so there are never more than packets of the time that one takes to fill.
 */
class HostBuckets {
  readonly #fullAt = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #burstMs: number;
  #sweepAt = HOSTS_SWEPT_MIN;

  constructor(rate: number) {
    this.#intervalMs = 1000 / rate;
    this.#burstMs = burstOf(rate) * this.#intervalMs;
  }

  take(host: string, now: number): number {
    const fullAt = Math.max(now, this.#fullAt.get(host) ?? now) + this.#intervalMs;
    // A rounding error of the sum must not cost a whole interval.
    const waitMs = fullAt - now - this.#burstMs;
    if (waitMs > 1e-6) return waitMs;
    this.#fullAt.set(host, fullAt);
    if (this.#fullAt.size > this.#sweepAt) this.#sweep(now);
    return 0;
  }

  #sweep(now: number): void {
    for (const [host, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(host);
    this.#sweepAt = Math.max(HOSTS_SWEPT_MIN, this.#fullAt.size * 2);
  }
}

/** The rate under loss: cut by a third when too much is lost, raised by steps while nothing is, up to the limit. */
class AdaptiveRate {
  rate: number;
  /** Packets since the last decision. */
  taken = 0;
  readonly #limit: number;
  /** What steps are a share of: the limit, or without one what was sent when loss was first seen. */
  #reference: number;
  #sent = 0;
  #answered = 0;
  #decidedAt: number;

  constructor(limit: number, now: number) {
    this.rate = limit;
    this.#limit = limit;
    this.#reference = limit;
    this.#decidedAt = now;
  }

  observe(sent: number, answered: number, now: number): void {
    this.#sent += sent;
    this.#answered += Math.min(sent, answered);
    const elapsedMs = now - this.#decidedAt;
    if (this.#sent < DECISION_SENT_MIN || elapsedMs < DECISION_INTERVAL_MS) return;
    if (1 - this.#answered / this.#sent > LOSS_MAX) this.#lower((this.taken * 1000) / elapsedMs);
    else this.#raise();
    [this.#sent, this.#answered, this.taken, this.#decidedAt] = [0, 0, 0, now];
  }

  /** @param measured packets a second since the last decision: cutting a rate that was never reached would change nothing */
  #lower(measured: number): void {
    if (this.#reference === Infinity) this.#reference = Math.max(measured, RATE_MIN);
    const base = measured > 0 ? Math.min(this.rate, measured) : this.rate;
    this.rate = Math.max(Math.min(RATE_MIN, this.#limit), base * DECREASE);
  }

  #raise(): void {
    if (this.rate === this.#limit) return;
    const raised = this.rate + this.#reference * INCREASE;
    // Without a limit, well beyond what was lost at once is as good as none again.
    this.rate = this.#limit === Infinity && raised > 2 * this.#reference ? Infinity : Math.min(this.#limit, raised);
  }
}
