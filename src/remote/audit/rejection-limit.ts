import type { Clock } from '../../runtime/clock.ts';
import { type Rate, RateBuckets } from '../../runtime/rate-buckets.ts';
import type { AuditEntry } from './port.ts';

/** 1,000 bytes a second at most, which a log of 1 GiB holds for more than a week. */
const REJECTIONS: Rate = { perSecond: 3, burst: 100 };
const SUMMARY_MS = 10_000;

/**
 * Keeps callers that nobody knows from filling the disk: of their refusals a few a second are written down, and the others
 * as one count every ten seconds. Of known callers every one is kept.
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

  /** What is to be written now: the entry, or nothing; before it the count of those left out, once it is due. */
  filter(entry: AuditEntry): AuditEntry[] {
    const now = this.#clock.monotonic();
    const counted = this.#suppressed > 0 && now - this.#suppressedSince >= SUMMARY_MS ? this.end() : [];
    if (entry.action !== 'rejected' || entry.client !== null) return [...counted, entry];
    if (this.#rates.take('', now) === 0) return [...counted, entry];
    if (this.#suppressed === 0) this.#suppressedSince = now;
    this.#suppressed += 1;
    return counted;
  }

  /** The count of those left out, if any. */
  end(): AuditEntry[] {
    const count = this.#suppressed;
    this.#suppressed = 0;
    if (count === 0) return [];
    const seconds = Math.max(1, Math.round((this.#clock.monotonic() - this.#suppressedSince) / 1000));
    return [{ action: 'suppressed', count, detail: `further refusals of unknown callers within ${seconds} s` }];
  }
}
