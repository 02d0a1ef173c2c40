const TIMEOUT_MIN_MS = 100;
const PLACES_MAX = 16_384;

interface Estimate {
  smoothed_ms: number;
  variation_ms: number;
}

/**
 * Computes timeouts for a place (a host, a network) from its response times so far (RFC 6298): a nearby place times
 * out after 100 ms, not after seconds. Each further attempt waits twice as long, up to the limit; unknown places get
 * the limit. Remembers the last 16,384 places.
 */
export class AdaptiveTimeouts<Place extends string | number> {
  readonly #limitMs: number;
  readonly #places = new Map<Place, Estimate>();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** @param tries earlier attempts at the port */
  timeoutMs(place: Place, tries: number): number {
    const estimate = this.#places.get(place);
    if (estimate === undefined) return this.#limitMs;
    const expected = Math.max(TIMEOUT_MIN_MS, estimate.smoothed_ms + 4 * estimate.variation_ms);
    return Math.min(this.#limitMs, expected * 2 ** tries);
  }

  observe(place: Place, rttMs: number): void {
    const estimate = this.#places.get(place);
    if (estimate !== undefined) {
      estimate.variation_ms += (Math.abs(rttMs - estimate.smoothed_ms) - estimate.variation_ms) / 4;
      estimate.smoothed_ms += (rttMs - estimate.smoothed_ms) / 8;
      return;
    }
    if (this.#places.size >= PLACES_MAX) {
      const [oldest] = this.#places.keys();
      this.#places.delete(oldest!);
    }
    this.#places.set(place, { smoothed_ms: rttMs, variation_ms: rttMs / 2 });
  }
}
