import { Fifo } from '@heddle/base/fifo';

/**
 * Buffers records between a probe, which cannot delay arrived results, and its consumer. It accepts everything; the
 * probe checks `full` and stops sending meanwhile.
 */
export class RecordQueue<T> {
  readonly #max: number;
  readonly #items = new Fifo<T>();
  #ended = false;
  #failure: { reason: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** @param max number of records at which it is full */
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

  /** Ends the queue; queued records can still be read. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Fails the queue: readers receive the error at once, before queued records. */
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
