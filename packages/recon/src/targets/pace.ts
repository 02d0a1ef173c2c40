import type { Clock } from '@heddle/base/clock';
import { RateBuckets } from '@heddle/base/rate-buckets';
import type { Pace } from './port.ts';

export interface PaceOptions {
  readonly clock: Clock;
  /** Packets per second in total; Infinity for no limit. */
  readonly rate: number;
  /** Packets per second to one host; Infinity for no limit. */
  readonly hostRate: number;
}

/** Fraction of a second's packets that may be sent in one burst. */
const BURST_SECS = 0.01;
const FAST_RATE = 1000;
const FAST_BURST_MIN = 16;

/** Loss above this share lowers the rate. */
const LOSS_MAX = 0.05;
const DECREASE = 0.7;
/**
 * Increase per step without loss, as a share of the rate and of the limit: two seconds lead from the floor to the
 * limit.
 */
const GROWTH = 0.2;
const INCREASE = 0.05;
/** Minimum rate under loss, as a share of the limit and in packets per second. */
const FLOOR_SHARE = 0.1;
const FLOOR_MIN = 100;
/** The same without a limit: the rate is not lowered below the default one. */
const UNLIMITED_FLOOR_MIN = 1000;
const DECISION_INTERVAL_MS = 100;
const DECISION_SENT_MIN = 50;
/** Time after which the rate rises even without enough data, if there was no loss. */
const QUIET_MS = 500;
/** Minimum number of lost packets that triggers a reaction, and how long they are remembered. */
const STALE_MS = 2000;
/** Loss that remains at the floor, within this share, is unrelated to the rate. */
const SAME_SHARE = 1.25;
/** Variation of such loss between decisions. */
const TOLERANCE = 0.1;
const TOLERANCE_SMOOTHING = 0.1;

/** Returns the burst size at a rate, in packets. */
export function burstOf(rate: number): number {
  return Math.max(rate >= FAST_RATE ? FAST_BURST_MIN : 1, Math.floor(rate * BURST_SECS));
}

/**
 * Creates token buckets on the monotonic clock. In any window of t seconds, at most rate × t + burst packets pass.
 *
 * @throws RangeError for rates that are not above 0
 */
export function createPace({ clock, rate, hostRate }: PaceOptions): Pace {
  if (!(rate > 0) || !(hostRate > 0)) throw new RangeError(`rates of ${rate} and ${hostRate} must be above 0`);
  return new TokenBuckets(clock, rate, hostRate);
}

class TokenBuckets implements Pace {
  readonly #clock: Clock;
  readonly #adaptive: AdaptiveRate;
  readonly #hosts: RateBuckets | null;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, rate: number, hostRate: number) {
    this.#clock = clock;
    this.#adaptive = new AdaptiveRate(rate, clock.monotonic());
    this.#hosts = hostRate === Infinity ? null : new RateBuckets({ perSecond: hostRate, burst: burstOf(hostRate) });
    this.#tokens = burstOf(rate);
    this.#filledAt = clock.monotonic();
  }

  get rate(): number {
    return this.#adaptive.rate;
  }

  take(host: string): number {
    const now = this.#clock.monotonic();
    if (this.#adaptive.isDue(now)) this.#adapt(now, 0, 0);
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
    const now = this.#clock.monotonic();
    if (this.#adaptive.isDue(now)) this.#adapt(now, 0, 0);
    if (this.rate === Infinity) return max;
    this.#fill(now);
    return Math.min(max, Math.floor(this.#tokens));
  }

  observe(sent: number, answered: number): void {
    this.#adapt(this.#clock.monotonic(), sent, answered);
  }

  #adapt(now: number, sent: number, answered: number): void {
    // Tokens so far were earned at the old rate.
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
 * Adapts the rate to loss. The requested limit is the ceiling; excessive loss cuts the rate by a third, down to the
 * floor, and without loss it rises to the limit again.
 */
class AdaptiveRate {
  rate: number;
  /** Packets since the last decision. */
  taken = 0;
  readonly #limit: number;
  /** Base of the steps: the limit or, without one, the highest rate at which loss occurred. */
  #reference: number;
  /** May exceed the packets: late answers belong to packets counted before. */
  #sent = 0;
  #answered = 0;
  #decidedAt: number;
  /** Share of packets at the limit that were answered when loss was first seen; null at the limit. */
  #initialAnswerShare: number | null = null;
  #lossMax = LOSS_MAX;

  constructor(limit: number, now: number) {
    this.rate = limit;
    this.#limit = limit;
    this.#reference = limit;
    this.#decidedAt = now;
  }

  /** Whether time alone may change the rate. */
  isDue(now: number): boolean {
    return now - this.#decidedAt >= QUIET_MS;
  }

  observe(sent: number, answered: number, now: number): void {
    this.#decide(now);
    this.#sent += sent;
    this.#answered += answered;
    this.#decide(now);
  }

  #decide(now: number): void {
    const elapsedMs = now - this.#decidedAt;
    if (elapsedMs < DECISION_INTERVAL_MS) return;
    const answered = this.#sent === 0 ? 1 : Math.min(1, this.#answered / this.#sent);
    const isLossy = 1 - answered > this.#lossMax;
    const isEnough = this.#sent >= DECISION_SENT_MIN;
    if (!isEnough && elapsedMs < (isLossy ? STALE_MS : QUIET_MS)) return;
    if (isLossy && isEnough) this.#lower((this.taken * 1000) / elapsedMs, answered);
    else if (!isLossy) this.#raise(answered);
    [this.#sent, this.#answered, this.taken, this.#decidedAt] = [0, 0, 0, now];
  }

  get #floor(): number {
    const least = this.#limit === Infinity ? UNLIMITED_FLOOR_MIN : FLOOR_MIN;
    return Math.min(this.#limit, Math.max(least, this.#reference * FLOOR_SHARE));
  }

  /** @param measured packets per second since the last decision; cutting an unreached rate would have no effect */
  #lower(measured: number, answered: number): void {
    if (this.#limit === Infinity) {
      this.#reference = Math.max(measured, this.#reference === Infinity ? UNLIMITED_FLOOR_MIN : this.#reference);
    }
    this.#initialAnswerShare ??= answered;
    if (this.rate <= this.#floor && isUnaffectedByRate(answered, this.#initialAnswerShare)) {
      this.#lossMax = 1 - answered + TOLERANCE;
      return;
    }
    const base = measured > 0 ? Math.min(this.rate, measured) : this.rate;
    this.rate = Math.max(this.#floor, base * DECREASE);
  }

  #raise(answered: number): void {
    const lossMax = Math.max(LOSS_MAX, 1 - answered + TOLERANCE);
    // Unrelated loss that has ceased must not excuse later loss.
    if (answered === 1 || lossMax < this.#lossMax) this.#lossMax += (LOSS_MAX - this.#lossMax) * TOLERANCE_SMOOTHING;
    if (this.rate === this.#limit) return;
    const raised = this.rate * (1 + GROWTH) + this.#reference * INCREASE;
    // Without a limit, a rate well above the one that caused loss is as good as none.
    this.rate = this.#limit === Infinity && raised > 2 * this.#reference ? Infinity : Math.min(this.#limit, raised);
    if (this.rate === this.#limit) this.#initialAnswerShare = null;
  }
}

/**
 * Returns whether the loss is unrelated to the rate: a tenth of the rate, or a rate at the floor, is answered no
 * better.
 */
function isUnaffectedByRate(answered: number, before: number): boolean {
  return answered > 0 && answered <= before * SAME_SHARE && (1 - answered) * SAME_SHARE >= 1 - before;
}
