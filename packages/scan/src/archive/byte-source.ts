import type { ObjectReader } from '../source/port.ts';
import { giveBackBuffer, takeBuffer } from './kept-buffers.ts';

/** Compressed bytes, read front to back. */
export interface Input {
  /**
   * Returns at least `length` bytes, fewer only at the end; `length` is at most `CHUNK_BYTES`. Valid until the next
   * call.
   */
  peek(length: number): Promise<Uint8Array>;
  /** Advances past bytes that were returned. */
  consume(length: number): void;
}

/** Bytes per read. */
export const CHUNK_BYTES = 256 * 1024;

/** Bytes of the first buffer for an object of unknown size: most are small, or are read past the buffer. */
const FIRST_BYTES = 4 * 1024;

const EMPTY = new Uint8Array(0);

/** Reads an object through a buffer: forward, and at any offset if the reader's access is `range`. */
export class ByteSource implements Input {
  readonly reader: ObjectReader;
  readonly #capacity: number;
  #buffer: Uint8Array = EMPTY;
  #start = 0;
  #end = 0;
  /** The object's offset of `#end`. */
  #offset = 0;
  #ended = false;
  /** The last read filled a buffer that can grow, of an object of unknown size. */
  #isFilled = false;

  constructor(reader: ObjectReader, capacity = CHUNK_BYTES) {
    this.reader = reader;
    this.#capacity = capacity;
  }

  /** The object's offset of the next byte. */
  get position(): number {
    return this.#offset - (this.#end - this.#start);
  }

  get canSeek(): boolean {
    return this.reader.access === 'range';
  }

  async peek(length: number): Promise<Uint8Array> {
    while (this.#end - this.#start < length && !this.#ended) await this.#fill();
    return this.#buffer.subarray(this.#start, this.#end);
  }

  consume(length: number): void {
    if (length > this.#end - this.#start) throw new Error('byte source: consumed more than was read');
    this.#start += length;
  }

  /** Seeks to `offset`; requires a reader with `range` access. */
  seek(offset: number): void {
    const first = this.#offset - this.#end;
    if (offset >= first && offset <= this.#offset) {
      this.#start = offset - first;
      return;
    }
    this.#start = this.#end = 0;
    this.#offset = offset;
    this.#ended = false;
  }

  /** Skips `length` bytes; returns false if the object ends first. */
  async skip(length: number): Promise<boolean> {
    const buffered = Math.min(length, this.#end - this.#start);
    this.#start += buffered;
    let left = length - buffered;
    if (left === 0) return true;
    if (this.canSeek) {
      this.seek(this.position + left);
      return this.reader.size < 0 || this.position <= this.reader.size;
    }
    while (left > 0) {
      const passed = Math.min(left, (await this.peek(1)).length);
      if (passed === 0) return false;
      this.#start += passed;
      left -= passed;
    }
    return true;
  }

  /** Reads at the current position, like a reader's `read`. */
  async readInto(target: Uint8Array, start: number, length: number): Promise<number> {
    if (this.#start === this.#end && !this.#ended && length >= this.#capacity / 2) {
      const count = await this.reader.read(target, start, length, this.#offset);
      this.#start = this.#end = 0;
      this.#offset += count;
      this.#ended = count === 0;
      return count;
    }
    const chunk = await this.peek(1);
    const count = Math.min(length, chunk.length);
    target.set(chunk.subarray(0, count), start);
    this.#start += count;
    return count;
  }

  /** Releases the buffer; what was peeked is invalid from here on. */
  close(): void {
    const buffer = this.#buffer;
    this.#buffer = EMPTY;
    this.#start = this.#end = 0;
    this.#ended = true;
    giveBackBuffer(buffer);
  }

  async #fill(): Promise<void> {
    if (this.#buffer.length === 0) this.#buffer = takeBuffer(this.#lengthNeeded(), this.#capacity);
    if (this.#start > 0) {
      this.#buffer.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    if (this.#end === this.#buffer.length || this.#isFilled) this.#grow();
    const remaining = this.#buffer.length - this.#end;
    const count = await this.reader.read(this.#buffer, this.#end, remaining, this.#offset);
    this.#isFilled = count === remaining && this.reader.size < 0 && this.#buffer.length < this.#capacity;
    this.#end += count;
    this.#offset += count;
    this.#ended = count === 0;
  }

  /** Grows the buffer: an object of unknown size is large, or one that grew after it was opened has more than its size. */
  #grow(): void {
    const { length } = this.#buffer;
    if (length >= this.#capacity) throw new Error('byte source: request exceeds the capacity');
    const buffer = takeBuffer(length * 4, this.#capacity);
    buffer.set(this.#buffer);
    giveBackBuffer(this.#buffer);
    this.#buffer = buffer;
  }

  #lengthNeeded(): number {
    const { size } = this.reader;
    return size < 0 ? FIRST_BYTES : size + 1;
  }
}

/** Limits another input to its next `length` bytes. */
export class LimitedInput implements Input {
  readonly #input: Input;
  left: number;

  constructor(input: Input, length: number) {
    this.#input = input;
    this.left = length;
  }

  async peek(length: number): Promise<Uint8Array> {
    if (this.left === 0) return EMPTY;
    const chunk = await this.#input.peek(Math.min(length, this.left));
    return chunk.length > this.left ? chunk.subarray(0, this.left) : chunk;
  }

  consume(length: number): void {
    this.#input.consume(length);
    this.left -= length;
  }
}

/**
 * Charges compressed bytes to a budget in slices as they are consumed, so that the ratio is known during
 * decompression.
 */
export class MeteredInput implements Input {
  readonly #input: Input;
  readonly #budget: { consume(bytes: number): void };
  /** Bytes at hand that are already charged. */
  #known = 0;

  constructor(input: Input, budget: { consume(bytes: number): void }) {
    this.#input = input;
    this.#budget = budget;
  }

  async peek(length: number): Promise<Uint8Array> {
    const chunk = await this.#input.peek(length);
    const slice = chunk.length > SLICE_BYTES && length < SLICE_BYTES ? chunk.subarray(0, SLICE_BYTES) : chunk;
    if (slice.length > this.#known) {
      this.#budget.consume(slice.length - this.#known);
      this.#known = slice.length;
    }
    return slice;
  }

  consume(length: number): void {
    this.#known -= length;
    this.#input.consume(length);
  }
}

const SLICE_BYTES = 64 * 1024;
