import type { Clock } from '../../runtime/clock.ts';
import type { AuditEntry } from './port.ts';

const PER_SECOND = 100;
const WINDOW_MS = 1_000;

/**
 * Keeps callers that nobody knows from filling the disk: of their refusals so many a second are written down, and the
 * others as one count. Of known callers every one is kept.
 */
export class RejectionLimit {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #windowStart = -Infinity;
  #kept = 0;
  #suppressed = 0;

  constructor(clock: Clock, perSecond = PER_SECOND) {
    this.#clock = clock;
    this.#perSecond = perSecond;
  }

  /** What is to be written now: the entry, or nothing; before it the count of those left out, once it is known. */
  filter(entry: AuditEntry): AuditEntry[] {
    const now = this.#clock.monotonic();
    const counted = now - this.#windowStart >= WINDOW_MS ? this.end() : [];
    if (entry.action !== 'rejected' || entry.client !== null) return [...counted, entry];
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#kept = 0;
    }
    if (this.#kept < this.#perSecond) {
      this.#kept += 1;
      return [...counted, entry];
    }
    this.#suppressed += 1;
    return counted;
  }

  /** The count of those left out, if any. */
  end(): AuditEntry[] {
    const count = this.#suppressed;
    this.#suppressed = 0;
    if (count === 0) return [];
    const detail = 'further refusals of unknown callers within one second';
    return [{ action: 'suppressed', count, detail }];
  }
}
