import type { Input } from '../byte-source.ts';
import { bytesText } from '../context.ts';
import { LzmaDecoder, PACKED_BYTES_MAX } from './lzma.ts';
import { Damage, type Unpacker } from './unpacker.ts';

const PIECE_BYTES = 128 * 1024;
const WINDOW_BYTES_MIN = 4096;
/** The same limit as that of xz. */
export const DICTIONARY_BYTES_MAX = 128 * 1024 * 1024;
const LITERAL_BITS_MAX = 12;

export interface LzmaStreamOptions {
  /** The byte of literal context, literal position and position bits. */
  properties: number;
  dictionaryBytes: number;
  /** Unpacked bytes; Infinity if an end marker follows them. */
  size: number;
}

/** Decompresses one LZMA stream without its header. Holds the dictionary, or less if the stream is shorter. */
export class LzmaStreamUnpacker implements Unpacker {
  readonly #input: Input;
  readonly #decoder: LzmaDecoder;
  #left: number;
  #isBegun = false;
  #isLast = false;
  #damage: Damage | null = null;

  constructor(input: Input, { properties, dictionaryBytes, size }: LzmaStreamOptions) {
    if (dictionaryBytes > DICTIONARY_BYTES_MAX && size > DICTIONARY_BYTES_MAX) {
      const message = `the data needs ${bytesText(dictionaryBytes)} of memory to unpack, more than ${bytesText(DICTIONARY_BYTES_MAX)}`;
      throw new Damage(message, 'unsupported_archive');
    }
    this.#input = input;
    const windowBytes = Math.max(WINDOW_BYTES_MIN, Math.min(dictionaryBytes, size));
    this.#decoder = new LzmaDecoder(windowBytes, LITERAL_BITS_MAX);
    this.#decoder.setProperties(properties);
    this.#left = size;
  }

  async next(): Promise<Uint8Array | null> {
    const decoder = this.#decoder;
    while (this.#left > 0 && !decoder.hasEnded) {
      if (this.#damage !== null) throw this.#damage;
      await this.#refill();
      if (decoder.position === decoder.window.length) decoder.position = 0;
      const from = decoder.position;
      this.#decode(from + Math.min(this.#left, PIECE_BYTES, decoder.window.length - from));
      const count = decoder.position - from;
      this.#left -= count;
      if (count > 0) return decoder.window.subarray(from, decoder.position);
      if (this.#isLast) this.#damage ??= new Damage('the data ends too early');
    }
    return null;
  }

  /** Decodes up to a position of the window; what precedes damage is delivered. */
  #decode(limit: number): void {
    try {
      this.#decoder.decode(limit);
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      this.#damage = error;
    }
  }

  async #refill(): Promise<void> {
    const decoder = this.#decoder;
    const isFirst = !this.#isBegun;
    let length = isFirst ? 0 : decoder.keepUnread();
    // Refilling before the bytes run low would move them too often.
    const isEnough = !isFirst && length > PACKED_BYTES_MAX / 2;
    while (!isEnough && length < PACKED_BYTES_MAX && !this.#isLast) {
      const chunk = await this.#input.peek(1);
      const count = Math.min(chunk.length, PACKED_BYTES_MAX - length);
      this.#isLast = count === 0;
      decoder.packed.set(chunk.subarray(0, count), length);
      this.#input.consume(count);
      length += count;
    }
    decoder.continueStream(length, this.#state(isFirst));
    this.#isBegun = true;
  }

  #state(isFirst: boolean): { isFirst: boolean; isLast: boolean } {
    return { isFirst, isLast: this.#isLast };
  }

  close(): void {
    this.#left = 0;
  }
}
