import type { MessageQueue } from '@heddle/core/queue/port';
import { Coalescer } from '@heddle/base/coalescer';
import type { Logger } from '@heddle/base/log';

const SET_MAX = 500;
const WAITING_MAX = 100_000;

/**
 * Settles the messages of one queue, in sets. A message that could not be settled is redelivered; nothing here throws.
 */
export class Settlement {
  readonly #name: string;
  readonly #queue: MessageQueue;
  readonly #log: Logger;
  readonly #deletes: Coalescer<string, undefined>;

  constructor(name: string, queue: MessageQueue, log: Logger) {
    this.#name = name;
    this.#queue = queue;
    this.#log = log;
    this.#deletes = new Coalescer({
      flush: async (receipts) => {
        await queue.delete(name, receipts);
        return receipts.map(() => undefined);
      },
      maxItems: SET_MAX,
      maxWaiting: WAITING_MAX,
    });
  }

  /** Deletes handled messages. */
  async done(receipts: readonly string[]): Promise<void> {
    await this.#noted('deleted', Promise.all(receipts.map((receipt) => this.#deletes.add(receipt))));
  }

  /** Returns messages to the queue for other workers, at once. */
  async handBack(receipts: readonly string[]): Promise<void> {
    if (receipts.length > 0) await this.#noted('released', this.#queue.release(this.#name, receipts));
  }

  async deadLetter(letters: readonly { receipt: string; reason: string }[]): Promise<void> {
    if (letters.length > 0) await this.#noted('dead_lettered', this.#queue.deadLetter(this.#name, letters));
  }

  async extend(receipts: readonly string[], visibilityMs: number): Promise<void> {
    if (receipts.length > 0) await this.#noted('extended', this.#queue.extend(this.#name, receipts, visibilityMs));
  }

  async #noted(what: string, work: Promise<unknown>): Promise<void> {
    await work.catch((error: unknown) => {
      this.#log.warn({ queue: this.#name, err: error }, `messages could not be ${what}; they may be redelivered`);
    });
  }
}
