import { Fifo } from '@heddle/base/fifo';
import type { Endpoint, EndpointSource } from '../targets/port.ts';

/** Reads endpoints ahead, so that the scan need not wait for name resolution; never overlaps requests for batches. */
export class EndpointFeed {
  readonly #source: EndpointSource;
  readonly #signal: AbortSignal;
  readonly #batch: number;
  readonly #arrived: () => void;
  readonly #waiting = new Fifo<Endpoint>();
  #reading = false;
  #ended = false;
  #failure: { reason: unknown } | undefined;

  /**
   * @param batch endpoints per request; at most twice as many are buffered
   * @param arrived called when more are available, or the end is known
   */
  constructor(source: EndpointSource, signal: AbortSignal, batch: number, arrived: () => void) {
    this.#source = source;
    this.#signal = signal;
    this.#batch = batch;
    this.#arrived = arrived;
  }

  /** Whether everything was taken. */
  get ended(): boolean {
    return this.#ended && this.#waiting.length === 0;
  }

  /** Returns the next one; undefined if none is available (yet). Throws any error of the source. */
  take(): Endpoint | undefined {
    if (this.#failure !== undefined) throw this.#failure.reason;
    if (!this.#reading && !this.#ended && this.#waiting.length < this.#batch) this.#read();
    return this.#waiting.shift();
  }

  #read(): void {
    this.#reading = true;
    this.#source.next(this.#batch, this.#signal).then(
      (endpoints) => {
        this.#reading = false;
        this.#ended = endpoints.length === 0;
        for (const endpoint of endpoints) this.#waiting.push(endpoint);
        this.#arrived();
      },
      (reason: unknown) => {
        this.#failure = { reason };
        this.#arrived();
      },
    );
  }
}
