const TIMEOUT_MIN_MS = 100;
const HOSTS_MAX = 16_384;

interface Estimate {
  smoothed_ms: number;
  variation_ms: number;
}

/**
 * How long to wait for a host, from how fast it answered so far (RFC 6298): a host next door is given up after 100 ms,
 * not after seconds. Each further try waits twice as long, never beyond the limit; hosts that never answered get the
 * limit. Remembers 16,384 hosts, those that were added last.
 */
export class HostTimeouts {
  readonly #limitMs: number;
  readonly #hosts = new Map<string, Estimate>();

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** @param tries how often the port was tried before */
  timeoutMs(host: string, tries: number): number {
    const estimate = this.#hosts.get(host);
    if (estimate === undefined) return this.#limitMs;
    const expected = Math.max(TIMEOUT_MIN_MS, estimate.smoothed_ms + 4 * estimate.variation_ms);
    return Math.min(this.#limitMs, expected * 2 ** tries);
  }

  observe(host: string, rttMs: number): void {
    const estimate = this.#hosts.get(host);
    if (estimate !== undefined) {
      estimate.variation_ms += (Math.abs(rttMs - estimate.smoothed_ms) - estimate.variation_ms) / 4;
      estimate.smoothed_ms += (rttMs - estimate.smoothed_ms) / 8;
      return;
    }
    if (this.#hosts.size >= HOSTS_MAX) {
      const [oldest] = this.#hosts.keys();
      this.#hosts.delete(oldest!);
    }
    this.#hosts.set(host, { smoothed_ms: rttMs, variation_ms: rttMs / 2 });
  }
}
