import { backoffMs, type BackoffPolicy } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { ForgedAnswer, RemoteCallFailure, UnsignedRefusal } from './failures.ts';
import { TransportFailure } from './port.ts';

/**
 * Classifies a failed submission attempt. `elsewhere`: the executor did not keep it, so any endpoint may be tried.
 * `again`: it may have arrived, so only the same endpoint may be tried again. `final`: a retry cannot help.
 */
export type Verdict = 'elsewhere' | 'again' | 'final';

export function judge(error: unknown): Verdict {
  if (error instanceof TransportFailure) return error.maybeReceived ? 'again' : 'elsewhere';
  if (error instanceof ForgedAnswer) return 'again';
  if (!(error instanceof RemoteCallFailure)) return 'final';
  // An unsigned response proves nothing about the request.
  if (error instanceof UnsignedRefusal) return error.retryable ? 'again' : 'final';
  // A task's outcome is final, whatever its code.
  if (error.correlationId !== null) return 'final';
  // Another copy of the request may have arrived before this one.
  if (isFixedBySigning(error)) return 'again';
  return error.retryable ? 'elsewhere' : 'final';
}

/** Returns whether the same request may succeed when signed again. */
export function isFixedBySigning(error: unknown): boolean {
  return error instanceof RemoteCallFailure && (error.code === 'EXPIRED' || error.code === 'REPLAYED');
}

const BACKOFF: BackoffPolicy = { base_ms: 100, factor: 2, max_ms: 5_000, jitter: 0.5 };
/** Caps the retry delay that an executor asks for. */
const RETRY_AFTER_MAX_MS = 30_000;

/** Returns the delay before the next attempt, milliseconds. @param retry 1 for the first */
export function waitMs(error: unknown, retry: number, random: Random): number {
  if (retry === 1 && isFixedBySigning(error)) return 0;
  const ownMs = backoffMs(BACKOFF, retry, () => random.next());
  const askedMs = error instanceof RemoteCallFailure ? (error.retryAfterSecs ?? 0) * 1000 : 0;
  return Math.max(ownMs, Math.min(askedMs, RETRY_AFTER_MAX_MS));
}

/** Measures elapsed time by both clocks: one stops while the machine sleeps, and the other may be set. */
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
