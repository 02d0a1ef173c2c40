import type { Clock } from '../runtime/clock.ts';

/** Transactions that commit within this time of their statement are found by the next look; later ones by a look at all. */
const OVERLAP_MS = 1_000;
/** A receiver that waits looks by itself this often, should a notification have been lost; then from the beginning. */
export const POLL_MS = 1_000;
/** Where a look from later on found nothing, the next one from the beginning may come this soon after the last. */
const ALL_WHEN_EMPTY_MS = 100;

interface Place {
  /** By the database's clock, milliseconds since the epoch. */
  lookedUntil: number;
  lookedAtAllAt: number;
}

/**
 * How far receivers came in each queue. What was handed out and deleted stays in the index until the next vacuum, and
 * while an old transaction is open also beyond it; a receiver that began at the beginning every time would walk over all
 * of that for every message.
 */
export class Progress {
  readonly #clock: Clock;
  readonly #places = new Map<string, Place>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Where to look from, by the database's clock in milliseconds; null: from the beginning. */
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

  /** Whether a queue that seems to be empty is due for a look from the beginning; then the next `from` says so. */
  mayLookAtAll(queue: string): boolean {
    if (this.#untilLookAtAllMs(queue) > 0) return false;
    this.#places.delete(queue);
    return true;
  }

  /** How long to wait after a look from `fromMs` that found nothing. */
  idleMs(queue: string, fromMs: number | null): number {
    return fromMs === null ? POLL_MS : this.#untilLookAtAllMs(queue);
  }

  #untilLookAtAllMs(queue: string): number {
    const lookedAtAllAt = this.#places.get(queue)?.lookedAtAllAt ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, lookedAtAllAt + ALL_WHEN_EMPTY_MS - this.#clock.monotonic());
  }
}
