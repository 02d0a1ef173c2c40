/** Names read ahead from an asynchronous list. */
const AHEAD_MAX = 1024;

/**
 * Supplies names one by one without waiting: a synchronous list is read directly, an asynchronous one slightly ahead.
 * Reading pauses when the buffer is full and resumes when it is empty.
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
   * @param onMore names are available again, or none will come
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

  /** Returns the next name; null if none is available: `ended` is true if there will be no more. */
  take(): string | null {
    if (this.#list !== null) return this.#takeFrom(this.#list);
    if (this.#at < this.#ahead.length) return this.#ahead[this.#at++]!;
    void this.#read();
    return null;
  }

  /** Closes the list. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    try {
      if (!this.#ended) this.#list?.return?.();
      if (!this.#ended) void this.#stream?.return?.().catch(() => undefined);
    } catch {
      // Errors of a list that is being closed are irrelevant.
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

  #canReadAhead(): boolean {
    return this.#ahead.length < AHEAD_MAX && !this.#closed;
  }

  async #read(): Promise<void> {
    if (this.#reading || this.#ended || this.#closed) return;
    this.#reading = true;
    this.#ahead = [];
    this.#at = 0;
    try {
      while (this.#canReadAhead()) {
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
