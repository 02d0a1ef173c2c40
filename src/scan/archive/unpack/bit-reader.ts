import type { Input } from '../byte-source.ts';
import { Damage } from './unpacker.ts';

const CAPACITY_BYTES = 320 * 1024;
/** Hot loops may run this far over the end before `check` says so. */
const SLACK_BYTES = 512;

/** Bits, highest first, from bytes that were brought in before. Its fields are open to hot loops. */
export class BitReader {
  readonly bytes = new Uint8Array(CAPACITY_BYTES + SLACK_BYTES);
  at = 0;
  /** The last `count` bits of `value` were read from `bytes` and not taken. */
  value = 0;
  count = 0;
  readonly #input: Input;
  #end = 0;
  #ended = false;

  constructor(input: Input) {
    this.#input = input;
  }

  /** True where `length` bytes are at hand, or the input has ended. */
  has(length: number): boolean {
    return this.#ended || this.#end - this.at >= length;
  }

  /** Brings in `length` bytes, or what is left. */
  async fill(length: number): Promise<void> {
    if (this.has(length)) return;
    // The bits at hand stay: they were read from before `at`.
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

  /** The next bits, at most 24. Throws `Damage` beyond the bytes at hand. */
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

  /** Throws `Damage` where a loop took more than there was. */
  check(): void {
    if (this.at - (this.count >> 3) > this.#end) throw new Damage('the data ends too early');
  }

  /** Gives up the bits to the next byte; whole bytes that were read ahead are given back. */
  align(): void {
    this.at -= this.count >> 3;
    this.count = 0;
  }

  /** Bytes at hand, after `align`. */
  get rest(): Uint8Array {
    return this.bytes.subarray(this.at, this.#end);
  }
}
