import type { Clock } from '@heddle/base/clock';
import { type Rate, RateBuckets } from '@heddle/base/rate-buckets';
import type { AuditEntry } from './port.ts';

/** At most 1,000 bytes per second, so a 1 GiB log covers more than a week. */
const REJECTIONS: Rate = { perSecond: 3, burst: 100 };
const SUMMARY_MS = 10_000;

/**
 * Keeps unknown callers from filling the disk: a few of their rejections per second are recorded, the rest as one count
 * every ten seconds. All rejections of known callers are recorded.
 */
export class RejectionLimit {
  readonly #clock: Clock;
  readonly #rates: RateBuckets;
  #suppressed = 0;
  #suppressedSince = 0;

  constructor(clock: Clock, rate = REJECTIONS) {
    this.#clock = clock;
    this.#rates = new RateBuckets(rate);
  }

  /**
   * Returns the entries to write now: the entry itself or none, preceded by the count of suppressed entries if it is
   * due.
   */
  filter(entry: AuditEntry): AuditEntry[] {
    const now = this.#clock.monotonic();
    const counted = this.#suppressed > 0 && now - this.#suppressedSince >= SUMMARY_MS ? this.end() : [];
    if (entry.action !== 'rejected' || entry.client !== null) return [...counted, entry];
    if (this.#rates.take('', now) === 0) return [...counted, entry];
    if (this.#suppressed === 0) this.#suppressedSince = now;
    this.#suppressed += 1;
    return counted;
  }

  /** Returns the pending count of suppressed entries, if any. */
  end(): AuditEntry[] {
    const count = this.#suppressed;
    this.#suppressed = 0;
    if (count === 0) return [];
    const seconds = Math.max(1, Math.round((this.#clock.monotonic() - this.#suppressedSince) / 1000));
    return [{ action: 'suppressed', count, detail: `further rejections of unknown callers within ${seconds} s` }];
  }
}
