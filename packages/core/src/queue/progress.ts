import type { Clock } from '@heddle/base/clock';

/**
 * Transactions that commit within this time of their statement are found by the next poll; later ones by a full scan.
 */
const OVERLAP_MS = 1_000;
/** Poll interval of a waiting receiver, in case a notification was lost; followed by full scans. */
export const POLL_MS = 1_000;
/** Minimum interval between full scans after a partial scan found nothing. */
const ALL_WHEN_EMPTY_MS = 100;

interface Place {
  /** By the database's clock, milliseconds since the epoch. */
  lookedUntil: number;
  lookedAtAllAt: number;
}

/**
 * Tracks how far receivers have scanned each queue. Delivered and deleted rows stay in the index until the next vacuum,
 * and longer while an old transaction is open; a receiver that always scanned from the beginning would walk over all of
 * them for every message.
 */
export class Progress {
  readonly #clock: Clock;
  readonly #places = new Map<string, Place>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns where to start the scan, by the database's clock in milliseconds; null: from the beginning. */
  from(queue: string): number | null {
    const place = this.#places.get(queue);
    if (place === undefined || this.#clock.monotonic() - place.lookedAtAllAt >= POLL_MS) return null;
    return place.lookedUntil - OVERLAP_MS;
  }

  looked(queue: string, fromMs: number | null, lookedUntil: number): void {
    const now = this.#clock.monotonic();
    const lookedAtAllAt = fromMs === null ? now : (this.#places.get(queue)?.lookedAtAllAt ?? Number.NEGATIVE_INFINITY);
    this.#places.set(queue, { lookedUntil: Math.floor(lookedUntil), lookedAtAllAt });
  }

  /** Returns whether a queue that seems empty is due for a full scan, which the next `from` then requests. */
  mayLookAtAll(queue: string): boolean {
    if (this.#untilLookAtAllMs(queue) > 0) return false;
    this.#places.delete(queue);
    return true;
  }

  /** Returns how long to wait after a scan from `fromMs` that found nothing. */
  idleMs(queue: string, fromMs: number | null): number {
    return fromMs === null ? POLL_MS : this.#untilLookAtAllMs(queue);
  }

  #untilLookAtAllMs(queue: string): number {
    const lookedAtAllAt = this.#places.get(queue)?.lookedAtAllAt ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, lookedAtAllAt + ALL_WHEN_EMPTY_MS - this.#clock.monotonic());
  }
}
