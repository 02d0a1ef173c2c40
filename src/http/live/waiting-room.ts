import { HeddleError } from '../../domain/errors.ts';

export interface WaitingRoomOptions {
  /** Callers that may wait at once; more are refused. */
  readonly max: number;
  /** What those are told. */
  readonly full: string;
}

/** Callers that wait for an answer: bounded in number, and let go when they hang up or the server stops. */
export class WaitingRoom {
  readonly #options: WaitingRoomOptions;
  readonly #waiting = new Set<AbortController>();
  #closing = false;

  constructor(options: WaitingRoomOptions) {
    this.#options = options;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /**
   * Runs what waits, with a signal that ends it when the caller is gone or the room closes.
   *
   * @throws HeddleError TOO_MANY_REQUESTS where too many wait already
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
