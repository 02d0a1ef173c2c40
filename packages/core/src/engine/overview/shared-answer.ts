import type { Clock } from '@heddle/base/clock';

/** Computes an answer once for concurrent callers, and again when it is too old. A failed computation is not kept. */
export class SharedAnswer<Answer> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #maxAgeMs: number;
  readonly #compute: () => Promise<Answer>;
  #current: Promise<Answer> | undefined;
  #endedAt = Infinity;

  constructor(clock: Pick<Clock, 'monotonic'>, maxAgeMs: number, compute: () => Promise<Answer>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#compute = compute;
  }

  get(): Promise<Answer> {
    if (this.#current !== undefined && this.#clock.monotonic() - this.#endedAt < this.#maxAgeMs) return this.#current;
    const current = this.#compute();
    this.#current = current;
    // Under way: every caller shares it.
    this.#endedAt = Infinity;
    const end = (kept: boolean): void => {
      if (this.#current !== current) return;
      this.#endedAt = this.#clock.monotonic();
      if (!kept) this.#current = undefined;
    };
    current.then(
      () => end(true),
      () => end(false),
    );
    return current;
  }
}
