import { HeddleError } from '@heddle/base/errors';

export interface WaitLimiterOptions {
  /** Maximum number of waiting callers; more are rejected. */
  readonly max: number;
  /** Message of the rejection. */
  readonly full: string;
}

/** Callers that wait for a response: limited in number, and released when they disconnect or the server stops. */
export class WaitLimiter {
  readonly #options: WaitLimiterOptions;
  readonly #waiting = new Set<AbortController>();
  #closing = false;

  constructor(options: WaitLimiterOptions) {
    this.#options = options;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /**
   * Runs a wait with a signal that aborts when the caller disconnects or the server stops.
   * @throws HeddleError TOO_MANY_REQUESTS if too many are waiting
   */
  async wait<T>(gone: AbortSignal, run: (stop: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#waiting.size >= this.#options.max) {
      throw new HeddleError('TOO_MANY_REQUESTS', this.#options.full, { retryAfterSecs: 5 });
    }
    const stop = new AbortController();
    const hangUp = (): void => stop.abort();
    gone.addEventListener('abort', hangUp, { once: true });
    this.#waiting.add(stop);
    try {
      return await run(stop.signal);
    } finally {
      this.#waiting.delete(stop);
      gone.removeEventListener('abort', hangUp);
    }
  }

  /** Ends every wait. */
  close(): void {
    this.#closing = true;
    for (const stop of this.#waiting) stop.abort();
  }
}
