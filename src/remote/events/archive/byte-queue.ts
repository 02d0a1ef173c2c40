/** Takes exact lengths from chunks of any; what is taken is a copy. */
export class ByteQueue {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #head: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** Null where the chunks end before so many bytes. */
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

  /** Reads the rest away, so that what counts the bytes on their way here has seen all of them. */
  async close(): Promise<void> {
    this.#head = new Uint8Array(0);
    while ((await this.#chunks.next()).done !== true);
  }
}
