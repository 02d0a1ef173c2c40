import { type BackoffPolicy, backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import { errorOf } from '@heddle/base/thrown';

const POLICY: BackoffPolicy = { base_ms: 1_000, factor: 2, max_ms: 60_000, jitter: 0 };

interface Failed {
  readonly error: Error;
  readonly failures: number;
  readonly retryAtMs: number;
}

/** A failed attempt and the delay before the next one. */
export class AttemptFailure extends Error {
  readonly retryAfterSecs: number;

  constructor(cause: Error, retryAfterSecs: number) {
    super(cause.message, { cause });
    this.retryAfterSecs = retryAfterSecs;
  }
}

/**
 * Shares one attempt among concurrent callers. After a failure, callers get the same error until a delay has passed
 * that doubles up to a minute.
 */
export class SharedAttempts<T> {
  readonly #clock: Clock;
  readonly #pending = new Map<string, Promise<T>>();
  readonly #failed = new Map<string, Failed>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param signal releases this caller only; the shared attempt continues
   * @throws AttemptFailure, or the signal's reason
   */
  run(key: string, attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return abandonable(this.#pending.get(key) ?? this.#begin(key, attempt), signal);
  }

  /** Resolves when no attempt is in progress. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending.values());
  }

  #begin(key: string, attempt: () => Promise<T>): Promise<T> {
    const failed = this.#failed.get(key);
    const waitMs = failed === undefined ? 0 : failed.retryAtMs - this.#clock.monotonic();
    if (failed !== undefined && waitMs > 0) return Promise.reject(new AttemptFailure(failed.error, secs(waitMs)));
    const made = this.#make(key, attempt, failed?.failures ?? 0).finally(() => this.#pending.delete(key));
    // All callers may be gone; the failure is recorded anyway.
    made.catch(() => undefined);
    this.#pending.set(key, made);
    return made;
  }

  async #make(key: string, attempt: () => Promise<T>, failures: number): Promise<T> {
    try {
      const result = await attempt();
      this.#failed.delete(key);
      return result;
    } catch (thrown) {
      const error = errorOf(thrown);
      const waitMs = backoffMs(POLICY, failures + 1, () => 0);
      this.#failed.set(key, { error, failures: failures + 1, retryAtMs: this.#clock.monotonic() + waitMs });
      throw new AttemptFailure(error, secs(waitMs));
    }
  }
}

function secs(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

function abandonable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
