import { Damage } from './unpacker.ts';

const POSITION_STATES = 16;
const PROBABILITY_START = 1024;

/** Offsets of the models' probabilities in the shared table. */
const AT = {
  isMatch: 0,
  isRepeat: 192,
  isRepeat0: 204,
  isRepeat1: 216,
  isRepeat2: 228,
  isRepeat0Long: 240,
  slots: 432,
  special: 688,
  align: 816,
  lengths: 832,
  repeatLengths: 1348,
  literals: 1864,
} as const;

/** Offsets within the model of a length: two choices, low and middle by position, high. */
const LENGTH = { low: 2, middle: 130, high: 258 } as const;
/** Maximum bits of context for literals in LZMA2. */
const LITERAL_BITS_MAX = 4;
const LITERAL_PROBABILITIES = 0x300;

/** Maximum compressed bytes of one chunk. */
export const PACKED_BYTES_MAX = 64 * 1024;

/** No symbol needs more packed bytes. */
const SYMBOL_BYTES_MAX = 32;

/**
 * Decodes LZMA into a circular window. Range and code are kept as signed 32-bit numbers, which keeps them off the
 * heap; unsigned comparison flips the highest bit of both.
 */
export class LzmaDecoder {
  /** The bytes unpacked last; `position` is the write position. */
  readonly window: Uint8Array;
  position = 0;
  /** Compressed bytes of the current chunk, with some slack after `#end`. */
  readonly packed = new Uint8Array(PACKED_BYTES_MAX + 64);
  readonly #literalBitsMax: number;
  readonly #probabilities: Uint16Array;
  #at = 0;
  #end = 0;
  #range = 0;
  #code = 0;
  #state = 0;
  #repeat0 = 0;
  #repeat1 = 0;
  #repeat2 = 0;
  #repeat3 = 0;
  #lengthLeft = 0;
  /** Bytes of the window that hold data. */
  #filled = 0;
  /** Unpacked bytes since the dictionary was reset, modulo 2^32: models depend on its low bits. */
  #count = 0;
  /** Where decoding pauses to refill the packed bytes, and whether an end marker is permitted: streams of LZMA. */
  #pauseAt = Infinity;
  #mayEnd = false;
  #ended = false;
  #literalContextBits = 0;
  #literalPositionMask = 0;
  #positionMask = 0;

  /** @param literalBitsMax of context and position together; LZMA allows 12, LZMA2 4 */
  constructor(windowBytes: number, literalBitsMax = LITERAL_BITS_MAX) {
    this.window = new Uint8Array(windowBytes);
    this.#literalBitsMax = literalBitsMax;
    this.#probabilities = new Uint16Array(AT.literals + (LITERAL_PROBABILITIES << literalBitsMax));
  }

  /** Compressed bytes of the chunk that were consumed. */
  get used(): number {
    return this.#at;
  }

  /** True after the end marker of a stream. */
  get hasEnded(): boolean {
    return this.#ended;
  }

  resetDictionary(): void {
    this.#filled = 0;
    this.#count = 0;
  }

  /** Applies the properties byte: literal context bits, literal position bits and position bits. */
  setProperties(byte: number): void {
    const contextBits = byte % 9;
    const rest = Math.floor(byte / 9);
    const positionBits = rest % 5;
    if (byte > 224 || contextBits + positionBits > this.#literalBitsMax) throw damaged();
    this.#literalContextBits = contextBits;
    this.#literalPositionMask = (1 << positionBits) - 1;
    this.#positionMask = (1 << Math.floor(rest / 5)) - 1;
    this.resetState();
  }

  resetState(): void {
    this.#probabilities.fill(PROBABILITY_START);
    this.#state = this.#repeat0 = this.#repeat1 = this.#repeat2 = this.#repeat3 = 0;
  }

  /** Moves the unread packed bytes to the beginning of `packed`; returns their number. */
  keepUnread(): number {
    const unread = this.#end - this.#at;
    this.packed.copyWithin(0, this.#at, this.#end);
    this.#at = 0;
    this.#end = unread;
    return unread;
  }

  /**
   * Starts or continues a stream of LZMA whose next `length` bytes are in `packed`. Unless they are the last,
   * decoding pauses before it could need more.
   */
  continueStream(length: number, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }): void {
    if (isFirst) this.beginChunk(length);
    this.#mayEnd = true;
    this.#end = length;
    this.#pauseAt = isLast ? Infinity : length - SYMBOL_BYTES_MAX;
  }

  /** Starts a chunk of `length` bytes in `packed`. */
  beginChunk(length: number): void {
    if (length < 5 || this.packed[0] !== 0) throw damaged();
    const [, a, b, c, d] = this.packed;
    this.#code = (a! << 24) | (b! << 16) | (c! << 8) | d!;
    this.#range = -1;
    this.#at = 5;
    this.#end = length;
    this.#lengthLeft = 0;
  }

  /** Throws unless the chunk ended correctly: fully consumed, with no pending match. */
  endChunk(): void {
    this.#normalize();
    if (this.#at !== this.#end || this.#code !== 0 || this.#lengthLeft !== 0) throw damaged();
  }

  /** Copies uncompressed bytes into the window. */
  copy(bytes: Uint8Array): void {
    this.window.set(bytes, this.position);
    this.#advance(bytes.length);
  }

  #advance(count: number): void {
    this.position += count;
    this.#count = (this.#count + count) | 0;
    this.#filled = Math.min(this.window.length, this.#filled + count);
  }

  /** Unpacks until the window position reaches `limit`, which is within the window. */
  decode(limit: number): void {
    if (this.#lengthLeft > 0) this.#copyMatch(limit);
    while (this.position < limit && this.#at < this.#pauseAt) {
      const positionState = this.#count & this.#positionMask;
      if (this.#bit(AT.isMatch + this.#state * POSITION_STATES + positionState) === 0) {
        this.#literal();
        continue;
      }
      this.#match(positionState);
      if (this.#ended) return;
      this.#copyMatch(limit);
      if (this.#at > this.#end) throw damaged();
    }
    if (this.#at > this.#end) throw damaged();
  }

  #literal(): void {
    const { window, position } = this;
    const filled = this.#filled;
    const previous = filled === 0 ? 0 : window[position === 0 ? window.length - 1 : position - 1]!;
    const context =
      ((this.#count & this.#literalPositionMask) << this.#literalContextBits) +
      (previous >> (8 - this.#literalContextBits));
    const base = AT.literals + LITERAL_PROBABILITIES * context;
    const state = this.#state;
    let byte: number;
    if (state < 7) {
      byte = this.#tree(base, 8);
    } else {
      if (this.#repeat0 >= filled) throw damaged();
      const from = position - this.#repeat0 - 1;
      byte = this.#matchedLiteral(base, window[from < 0 ? from + window.length : from]!);
    }
    this.#state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
    window[position] = byte;
    this.#advance(1);
    if (this.#at > this.#end) throw damaged();
  }

  /** Decodes a literal after a match; the byte that would have continued the match selects the model. */
  #matchedLiteral(base: number, expected: number): number {
    let symbol = 1;
    let offset = 0x100;
    let hint = expected;
    while (symbol < 0x100) {
      hint <<= 1;
      const hintBit = hint & offset;
      if (this.#bit(base + offset + hintBit + symbol) === 0) {
        symbol <<= 1;
        offset &= ~hintBit;
      } else {
        symbol = (symbol << 1) | 1;
        offset &= hintBit;
      }
    }
    return symbol & 0xff;
  }

  /** Decodes a match's distance and length. */
  #match(positionState: number): void {
    const state = this.#state;
    if (this.#bit(AT.isRepeat + state) === 0) {
      this.#repeat3 = this.#repeat2;
      this.#repeat2 = this.#repeat1;
      this.#repeat1 = this.#repeat0;
      this.#lengthLeft = this.#length(AT.lengths, positionState);
      this.#repeat0 = this.#distance(Math.min(this.#lengthLeft - 2, 3));
      this.#state = state < 7 ? 7 : 10;
    } else if (this.#bit(AT.isRepeat0 + state) === 0) {
      if (this.#bit(AT.isRepeat0Long + state * POSITION_STATES + positionState) === 0) {
        this.#lengthLeft = 1;
        this.#state = state < 7 ? 9 : 11;
      } else {
        this.#repeated(positionState);
      }
    } else {
      let distance: number;
      if (this.#bit(AT.isRepeat1 + state) === 0) {
        distance = this.#repeat1;
      } else {
        if (this.#bit(AT.isRepeat2 + state) === 0) {
          distance = this.#repeat2;
        } else {
          distance = this.#repeat3;
          this.#repeat3 = this.#repeat2;
        }
        this.#repeat2 = this.#repeat1;
      }
      this.#repeat1 = this.#repeat0;
      this.#repeat0 = distance;
      this.#repeated(positionState);
    }
    if (this.#repeat0 === END_DISTANCE && this.#mayEnd) this.#ended = true;
    else if (this.#repeat0 >= this.#filled || this.#repeat0 < 0) throw damaged();
  }

  #repeated(positionState: number): void {
    this.#lengthLeft = this.#length(AT.repeatLengths, positionState);
    this.#state = this.#state < 7 ? 8 : 11;
  }

  #length(base: number, positionState: number): number {
    if (this.#bit(base) === 0) return 2 + this.#tree(base + LENGTH.low + positionState * 8, 3);
    if (this.#bit(base + 1) === 0) return 10 + this.#tree(base + LENGTH.middle + positionState * 8, 3);
    return 18 + this.#tree(base + LENGTH.high, 8);
  }

  #distance(lengthState: number): number {
    const slot = this.#tree(AT.slots + lengthState * 64, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) << bits;
    if (slot < 14) return high + this.#reverseTree(AT.special + high - slot, bits);
    return high + (this.#direct(bits - 4) << 4) + this.#reverseTree(AT.align, 4);
  }

  #copyMatch(limit: number): void {
    const { window } = this;
    let to = this.position;
    const count = Math.min(this.#lengthLeft, limit - to);
    let from = to - this.#repeat0 - 1;
    if (from < 0) from += window.length;
    for (const end = to + count; to < end;) {
      window[to++] = window[from++]!;
      if (from === window.length) from = 0;
    }
    this.#lengthLeft -= count;
    this.#advance(count);
  }

  #normalize(): void {
    if ((this.#range & 0xff000000) !== 0) return;
    this.#range <<= 8;
    this.#code = (this.#code << 8) | this.packed[this.#at++]!;
  }

  #bit(index: number): number {
    this.#normalize();
    const probability = this.#probabilities[index]!;
    const bound = Math.imul(this.#range >>> 11, probability);
    if ((this.#code ^ SIGN) < (bound ^ SIGN)) {
      this.#range = bound;
      this.#probabilities[index] = probability + ((2048 - probability) >> 5);
      return 0;
    }
    this.#range = (this.#range - bound) | 0;
    this.#code = (this.#code - bound) | 0;
    this.#probabilities[index] = probability - (probability >> 5);
    return 1;
  }

  /** Decodes a whole bit tree, like `bit`, in one loop over local copies. */
  #tree(base: number, bits: number): number {
    const probabilities = this.#probabilities;
    const { packed } = this;
    let range = this.#range;
    let code = this.#code;
    let at = this.#at;
    let symbol = 1;
    const end = 1 << bits;
    while (symbol < end) {
      if ((range & 0xff000000) === 0) {
        range <<= 8;
        code = (code << 8) | packed[at++]!;
      }
      const probability = probabilities[base + symbol]!;
      const bound = Math.imul(range >>> 11, probability);
      if ((code ^ SIGN) < (bound ^ SIGN)) {
        range = bound;
        probabilities[base + symbol] = probability + ((2048 - probability) >> 5);
        symbol <<= 1;
      } else {
        range = (range - bound) | 0;
        code = (code - bound) | 0;
        probabilities[base + symbol] = probability - (probability >> 5);
        symbol = (symbol << 1) | 1;
      }
    }
    this.#range = range;
    this.#code = code;
    this.#at = at;
    return symbol - end;
  }

  #reverseTree(base: number, bits: number): number {
    let symbol = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const bit = this.#bit(base + symbol);
      symbol = (symbol << 1) | bit;
      value |= bit << i;
    }
    return value;
  }

  #direct(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++) {
      this.#normalize();
      this.#range >>>= 1;
      this.#code = (this.#code - this.#range) | 0;
      const mask = this.#code >> 31;
      this.#code = (this.#code + (this.#range & mask)) | 0;
      value = (value << 1) + (mask + 1);
    }
    return value;
  }
}

const SIGN = -0x80000000;
/** The distance of the marker at the end of a stream. */
const END_DISTANCE = -1;

function damaged(): Damage {
  return new Damage('the LZMA data is damaged');
}
