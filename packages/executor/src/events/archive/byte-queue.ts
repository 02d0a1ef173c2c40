/** Returns exact byte counts from chunks of any size; returned buffers are copies. */
export class ByteQueue {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #head: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Returns null if the stream ends before `bytes` bytes. */
  async take(bytes: number): Promise<Buffer | null> {
    const taken = Buffer.allocUnsafeSlow(bytes);
    let filled = 0;
    while (filled < bytes) {
      if (this.#head.length === 0) {
        const next = await this.#chunks.next();
        if (next.done === true) return null;
        this.#head = next.value;
        continue;
      }
      const part = this.#head.subarray(0, bytes - filled);
      taken.set(part, filled);
      filled += part.length;
      this.#head = this.#head.subarray(part.length);
    }
    return taken;
  }

  /** Drains the stream, so that upstream byte counters see all of it. */
  async close(): Promise<void> {
    this.#head = new Uint8Array(0);
    while ((await this.#chunks.next()).done !== true);
  }
}
