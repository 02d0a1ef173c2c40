import type { Input } from '../byte-source.ts';
import { Damage } from './unpacker.ts';

const CAPACITY_BYTES = 320 * 1024;
/** Bytes that hot loops may read past the end before `check` throws. */
const SLACK_BYTES = 512;

/** Reads bits, highest first, from buffered bytes. Its fields are public for hot loops. */
export class BitReader {
  readonly bytes = new Uint8Array(CAPACITY_BYTES + SLACK_BYTES);
  at = 0;
  /** The last `count` bits of `value` were read from `bytes` and are not consumed yet. */
  value = 0;
  count = 0;
  readonly #input: Input;
  #end = 0;
  #ended = false;

  constructor(input: Input) {
    this.#input = input;
  }

  /** Returns true if `length` bytes are available, or the input has ended. */
  has(length: number): boolean {
    return this.#ended || this.#end - this.at >= length;
  }

  /** Buffers `length` bytes, or what is left. */
  async fill(length: number): Promise<void> {
    if (this.has(length)) return;
    // Bits at hand stay valid: they were read from before `at`.
    this.bytes.copyWithin(0, this.at, this.#end);
    this.#end -= this.at;
    this.at = 0;
    while (this.#end < length && !this.#ended) {
      const chunk = await this.#input.peek(1);
      const count = Math.min(chunk.length, CAPACITY_BYTES - this.#end);
      this.bytes.set(chunk.subarray(0, count), this.#end);
      this.#input.consume(count);
      this.#end += count;
      this.#ended = count === 0;
    }
  }

  /** Returns the next bits, at most 24. Throws `Damage` beyond the buffered bytes. */
  take(bits: number): number {
    while (this.count < bits) {
      if (this.at >= this.#end) throw new Damage('the data ends too early');
      this.value = (this.value << 8) | this.bytes[this.at++]!;
      this.count += 8;
    }
    this.count -= bits;
    return (this.value >>> this.count) & ((1 << bits) - 1);
  }

  take32(): number {
    return ((this.take(16) << 16) | this.take(16)) >>> 0;
  }

  /** Throws `Damage` if a loop consumed more than was available. */
  check(): void {
    if (this.at - (this.count >> 3) > this.#end) throw new Damage('the data ends too early');
  }

  /** Skips to the next byte boundary and returns whole bytes that were read ahead. */
  align(): void {
    this.at -= this.count >> 3;
    this.count = 0;
  }

  /** Bytes at hand, after `align`. */
  get rest(): Uint8Array {
    return this.bytes.subarray(this.at, this.#end);
  }
}
