import type { Clock } from '@heddle/base/clock';
import { HeddleError } from '@heddle/base/errors';
import { parseZonedAddress, unmapped } from '@heddle/base/net/address';
import { networkOf } from '@heddle/base/net/network';
import { RateBuckets } from '@heddle/base/rate-buckets';

/** Of one address: ten at once, then one every ten seconds. */
const PER_ADDRESS = { perSecond: 0.1, burst: 10, bucketsMax: 50_000 };
/** Of all addresses together. */
const TOTAL = { perSecond: 10, burst: 100 };
const ALL = '';
const NETWORK_BITS = 64;

/** Limits failed logins, for each address and in total. A login counts until it succeeds. */
export class FailedLogins {
  readonly #perAddress = new RateBuckets(PER_ADDRESS);
  readonly #total = new RateBuckets(TOTAL);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a login that begins. Beyond the total, an address without failed logins may still try: strangers lock out
   * only themselves.
   * @throws HeddleError TOO_MANY_REQUESTS
   */
  begin(address: string): void {
    const key = keyOf(address);
    const now = this.#clock.monotonic();
    const isClean = this.#perAddress.isFull(key, now);
    const waitMs = this.#perAddress.take(key, now);
    if (waitMs > 0) throw tooMany(waitMs);
    const totalWaitMs = this.#total.take(ALL, now);
    if (totalWaitMs === 0 || isClean) return;
    this.#perAddress.refund(key, now);
    throw tooMany(totalWaitMs);
  }

  succeeded(address: string): void {
    const now = this.#clock.monotonic();
    this.#perAddress.refund(keyOf(address), now);
    this.#total.refund(ALL, now);
  }
}

/** A host has a whole /64 of IPv6 addresses. */
function keyOf(text: string): string {
  const parsed = parseZonedAddress(text);
  if (parsed === null) return 'unknown';
  const address = unmapped(parsed);
  return String(networkOf(address, address.family === 4 ? undefined : NETWORK_BITS).first);
}

function tooMany(waitMs: number): HeddleError {
  const retryAfterSecs = Math.ceil(waitMs / 1000);
  return new HeddleError('TOO_MANY_REQUESTS', 'Too many failed logins', {
    details: [`login: too many have failed; try again in ${retryAfterSecs} s`],
    retryAfterSecs,
  });
}
