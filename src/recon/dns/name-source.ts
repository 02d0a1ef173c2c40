/** Names read ahead of an asynchronous list. */
const AHEAD_MAX = 1024;

/**
 * Names one by one without waiting: a list that is at hand is read as it is, an asynchronous one a little ahead. Reading
 * stops when the buffer is full and goes on when it is empty.
 */
export class NameSource {
  readonly #list: Iterator<string> | null;
  readonly #stream: AsyncIterator<string> | null;
  readonly #onMore: () => void;
  readonly #onFault: (error: unknown) => void;
  #ahead: string[] = [];
  #at = 0;
  #reading = false;
  #ended = false;
  #closed = false;

  /**
   * @param onMore there are names again, or none will come
   * @param onFault the list itself failed
   */
  constructor(names: AsyncIterable<string> | Iterable<string>, onMore: () => void, onFault: (error: unknown) => void) {
    const sync = Symbol.iterator in names;
    this.#list = sync ? names[Symbol.iterator]() : null;
    this.#stream = sync ? null : names[Symbol.asyncIterator]();
    this.#onMore = onMore;
    this.#onFault = onFault;
  }

  /** Whether the last name was taken. */
  get ended(): boolean {
    return this.#ended && this.#at >= this.#ahead.length;
  }

  /** The next name; null where none is at hand: `ended` says whether any will be. */
  take(): string | null {
    if (this.#list !== null) return this.#takeFrom(this.#list);
    if (this.#at < this.#ahead.length) return this.#ahead[this.#at++]!;
    void this.#read();
    return null;
  }

  /** Lets go of the list; it is told that nobody reads on. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      if (!this.#ended) this.#list?.return?.();
      if (!this.#ended) void this.#stream?.return?.().catch(() => undefined);
    } catch {
      // A list that fails while it is let go of has nothing more to say.
    }
  }

  #takeFrom(list: Iterator<string>): string | null {
    if (this.#ended) return null;
    try {
      const next = list.next();
      if (next.done !== true) return next.value;
    } catch (error) {
      this.#onFault(error);
    }
    this.#ended = true;
    return null;
  }

  #mayReadOn(): boolean {
    return this.#ahead.length < AHEAD_MAX && !this.#closed;
  }

  async #read(): Promise<void> {
    if (this.#reading || this.#ended || this.#closed) return;
    this.#reading = true;
    this.#ahead = [];
    this.#at = 0;
    try {
      while (this.#mayReadOn()) {
        const next = await this.#stream!.next();
        if (next.done === true) {
          this.#ended = true;
          break;
        }
        this.#ahead.push(next.value);
        if (this.#ahead.length - this.#at === 1) this.#onMore();
      }
    } catch (error) {
      this.#ended = true;
      this.#onFault(error);
    }
    this.#reading = false;
    this.#onMore();
  }
}
