import { HeddleError } from './errors.ts';
import type { Clock } from './clock.ts';

export type BreakerState = 'closed' | 'open' | 'half_open';

export interface BreakerOptions {
  enabled: boolean;
  /** Failures within `failureWindowMs` that open it. */
  failureThreshold: number;
  failureWindowMs: number;
  /** How long it stays open before it admits a probe. */
  recoveryTimeoutMs: number;
  /** Successful probes that close it. */
  successThreshold: number;
  clock: Clock;
  onTransition?(to: BreakerState): void;
  onRejection?(): void;
}

/**
 * Circuit breaker: closed admits all calls; open rejects at once; half open admits one probe at a time. A result counts
 * only in the state that admitted its call.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #state: BreakerState = 'closed';
  /** Incremented by every transition, to detect late results from an earlier state. */
  #generation = 0;
  #failureTimes: number[] = [];
  #openedAt = 0;
  #probing = false;
  #probeSuccesses = 0;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** An open breaker becomes half open with the first call after the recovery time, not by itself. */
  get state(): BreakerState {
    return this.#state;
  }

  /**
   * Runs `work`, or throws DATABASE_UNAVAILABLE with the seconds to wait.
   *
   * @param isFailure whether an error of `work` counts as a failure of the resource; any other counts as a success
   */
  async run<T>(work: () => Promise<T>, isFailure: (error: unknown) => boolean): Promise<T> {
    if (!this.#options.enabled) return work();
    this.#admit();
    const generation = this.#generation;
    try {
      const result = await work();
      if (generation === this.#generation) this.#succeeded();
      return result;
    } catch (error) {
      if (generation === this.#generation) {
        if (isFailure(error)) this.#failed();
        else this.#succeeded();
      }
      throw error;
    }
  }

  /** Rejects unless closed: for work that must neither wait for a probe nor be one. */
  assertClosed(): void {
    if (this.#options.enabled && this.#state !== 'closed') this.#reject(1000);
  }

  #admit(): void {
    if (this.#state === 'closed') return;
    const leftMs = this.#openedAt + this.#options.recoveryTimeoutMs - this.#options.clock.monotonic();
    if (this.#state === 'open') {
      if (leftMs > 0) this.#reject(leftMs);
      this.#become('half_open');
    } else if (this.#probing) {
      this.#reject(1000);
    }
    this.#probing = true;
  }

  #reject(retryAfterMs: number): never {
    this.#options.onRejection?.();
    throw new HeddleError('DATABASE_UNAVAILABLE', undefined, {
      retryAfterSecs: Math.max(1, Math.ceil(retryAfterMs / 1000)),
    });
  }

  #succeeded(): void {
    if (this.#state !== 'half_open') return;
    this.#probing = false;
    this.#probeSuccesses += 1;
    if (this.#probeSuccesses >= this.#options.successThreshold) this.#become('closed');
  }

  #failed(): void {
    if (this.#state === 'half_open') {
      this.#become('open');
      return;
    }
    const now = this.#options.clock.monotonic();
    this.#failureTimes = this.#failureTimes.filter((at) => now - at < this.#options.failureWindowMs);
    this.#failureTimes.push(now);
    if (this.#failureTimes.length >= this.#options.failureThreshold) this.#become('open');
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#generation += 1;
    this.#failureTimes = [];
    this.#probing = false;
    this.#probeSuccesses = 0;
    if (state === 'open') this.#openedAt = this.#options.clock.monotonic();
    this.#options.onTransition?.(state);
  }
}
