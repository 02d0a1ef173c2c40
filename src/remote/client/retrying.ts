import { backoffMs, type BackoffPolicy } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { ForgedAnswer, RemoteCallFailure, UnsignedRefusal } from './failures.ts';
import { TransportFailure } from './port.ts';

/**
 * What a failed try of a submission means for the next one. `elsewhere`: nothing of it was kept, any endpoint may have it.
 * `again`: it may have arrived, so only the same endpoint may be asked again. `over`: no try would do better.
 */
export type Verdict = 'elsewhere' | 'again' | 'over';

export function judge(error: unknown): Verdict {
  if (error instanceof TransportFailure) return error.maybeReceived ? 'again' : 'elsewhere';
  if (error instanceof ForgedAnswer) return 'again';
  if (!(error instanceof RemoteCallFailure)) return 'over';
  // What nobody signed proves nothing about what became of the request.
  if (error instanceof UnsignedRefusal) return error.retryable ? 'again' : 'over';
  // The outcome of a task is what it is, whatever its code.
  if (error.correlationId !== null) return 'over';
  // Another copy of it may have arrived before this one.
  if (isMendedBySigning(error)) return 'again';
  return error.retryable ? 'elsewhere' : 'over';
}

/** Whether the same request, signed again, may pass. */
export function isMendedBySigning(error: unknown): boolean {
  return error instanceof RemoteCallFailure && (error.code === 'EXPIRED' || error.code === 'REPLAYED');
}

const BACKOFF: BackoffPolicy = { base_ms: 100, factor: 2, max_ms: 5_000, jitter: 0.5 };
/** An executor that names a longer wait is asked again after this one. */
const RETRY_AFTER_MAX_MS = 30_000;

/** Milliseconds before the next try. @param retry 1 for the first */
export function waitMs(error: unknown, retry: number, random: Random): number {
  if (retry === 1 && isMendedBySigning(error)) return 0;
  const ownMs = backoffMs(BACKOFF, retry, () => random.next());
  const askedMs = error instanceof RemoteCallFailure ? (error.retryAfterSecs ?? 0) * 1000 : 0;
  return Math.max(ownMs, Math.min(askedMs, RETRY_AFTER_MAX_MS));
}

/** How long has passed; by both clocks, since one stands still while a machine sleeps and the other may be set. */
export class Stopwatch {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #startedMonotonic: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#startedMonotonic = clock.monotonic();
  }

  elapsedMs(): number {
    return Math.max(this.#clock.now() - this.#startedAt, this.#clock.monotonic() - this.#startedMonotonic);
  }
}
