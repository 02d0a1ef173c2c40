import { Fifo } from './fifo.ts';

/**
 * Records between a probe, which cannot wait with what has arrived, and a consumer, which reads when it likes. It takes
 * whatever is pushed; the probe looks at `full` and sends nothing more meanwhile.
 */
export class RecordQueue<T> {
  readonly #max: number;
  readonly #items = new Fifo<T>();
  #ended = false;
  #failure: { reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @param max records from which on it is full */
  constructor(max: number) {
    this.#max = max;
  }

  get full(): boolean {
    return this.#items.length >= this.#max;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** What was pushed can still be read. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Readers get the error at once, before what waits. */
  fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.#wake?.();
  }

  async *read(): AsyncGenerator<T, void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason;
      const item = this.#items.shift();
      if (item !== undefined) {
        yield item;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
      }
    }
  }
}
