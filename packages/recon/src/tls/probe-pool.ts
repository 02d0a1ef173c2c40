import type { Endpoint, EndpointSource } from '../targets/port.ts';

export interface PoolOptions<Result> {
  readonly endpoints: EndpointSource;
  /** Concurrent probes; as many results may wait to be read, and as many endpoints to be probed. */
  readonly concurrency: number;
  readonly run: (endpoint: Endpoint, signal: AbortSignal) => Promise<Result>;
  readonly signal: AbortSignal;
}

/**
 * Yields results in order of completion. While the consumer is busy nothing new starts; when it stops, or the signal
 * aborts, `run`'s signal aborts too.
 *
 * @throws the signal's reason, or the first error of a probe or of the source
 */
export async function* probePool<Result>(options: PoolOptions<Result>): AsyncGenerator<Result, void, undefined> {
  const pool = new Pool(options);
  const onAbort = (): void => pool.stop(options.signal.reason);
  options.signal.addEventListener('abort', onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  try {
    for (;;) {
      const results = pool.takeResults();
      for (const result of results) yield result;
      if (results.length > 0) continue;
      if (pool.isEnded) return;
      pool.startMore();
      await pool.change();
    }
  } finally {
    options.signal.removeEventListener('abort', onAbort);
    pool.stop(new Error('the consumer stopped reading'));
  }
}

class Pool<Result> {
  readonly #options: PoolOptions<Result>;
  readonly #stopping = new AbortController();
  readonly #waiting: Endpoint[] = [];
  #results: Result[] = [];
  #active = 0;
  #isFetching = false;
  #isExhausted = false;
  #failure: { reason: unknown } | null = null;
  #isChanged = false;
  #wake: (() => void) | null = null;

  constructor(options: PoolOptions<Result>) {
    this.#options = options;
  }

  get isEnded(): boolean {
    return this.#isExhausted && this.#active === 0 && this.#waiting.length === 0 && this.#results.length === 0;
  }

  /** @throws the reason for which the pool was stopped */
  takeResults(): Result[] {
    if (this.#failure !== null) throw this.#failure.reason;
    const results = this.#results;
    this.#results = [];
    return results;
  }

  startMore(): void {
    const { concurrency } = this.#options;
    while (this.#active < concurrency && this.#waiting.length > 0) this.#start(this.#waiting.shift()!);
    const wanted = concurrency - this.#waiting.length;
    if (!this.#isFetching && !this.#isExhausted && wanted * 2 >= concurrency) void this.#fetch(wanted);
  }

  /** Resolves at the next event since the last call. */
  async change(): Promise<void> {
    if (!this.#isChanged && this.#failure === null) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isChanged = false;
  }

  stop(reason: unknown): void {
    this.#failure ??= { reason };
    this.#stopping.abort(reason);
    this.#changed();
  }

  #start(endpoint: Endpoint): void {
    this.#active += 1;
    this.#options.run(endpoint, this.#stopping.signal).then(
      (result) => {
        this.#active -= 1;
        this.#results.push(result);
        this.#changed();
      },
      (error: unknown) => this.stop(error),
    );
  }

  async #fetch(max: number): Promise<void> {
    this.#isFetching = true;
    try {
      const endpoints = await this.#options.endpoints.next(max, this.#stopping.signal);
      this.#isExhausted = endpoints.length === 0;
      this.#waiting.push(...endpoints);
    } catch (error) {
      this.stop(error);
    }
    this.#isFetching = false;
    this.#changed();
  }

  #changed(): void {
    this.#isChanged = true;
    this.#wake?.();
    this.#wake = null;
  }
}
