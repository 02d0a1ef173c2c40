import type { BitReader } from './bit-reader.ts';
import { Damage } from './unpacker.ts';

const LENGTH_MAX = 20;
const SYMBOLS_MAX = 258;
const SELECTORS_MAX = 18_002;
const GROUP_SYMBOLS = 50;
/** Symbols with codes up to this length are decoded by one table look-up. */
const FAST_BITS = 10;

/** Maximum bytes of a group of symbols. */
export const GROUP_BYTES = (GROUP_SYMBOLS * LENGTH_MAX) / 8 + 8;
/** Maximum bytes of the start of a block with its tables. */
export const HEADER_BYTES = 64 * 1024;

interface CodeTable {
  /** `symbol << 5 | length` by the next bits; 0 if the code is longer. */
  fast: Uint16Array;
  /** By length: the highest code of that length (-1: none), and the offset from a code to its index in `symbols`. */
  limits: Int32Array;
  bases: Int32Array;
  symbols: Uint16Array;
}

/** One block during decoding: up to 900,000 bytes in sorted order. */
export class Bzip2Block {
  /** The block's bytes in the low 8 bits. */
  readonly cells: Int32Array;
  length = 0;
  origin = 0;
  crc = 0;
  readonly #bits: BitReader;
  #tables: CodeTable[] = [];
  readonly #selectors = new Uint8Array(SELECTORS_MAX);
  #selectorCount = 0;
  #group = 0;
  readonly #order = new Uint8Array(256);
  #endSymbol = 0;
  #run = 0;
  #runBit = 1;

  constructor(bits: BitReader, size: number) {
    this.#bits = bits;
    this.cells = new Int32Array(size);
  }

  /** Reads the start of the block after its magic. */
  begin(): void {
    const bits = this.#bits;
    this.crc = bits.take32();
    if (bits.take(1) === 1)
      throw new Damage('the data was written by an old version of bzip2 that is not supported', 'unsupported_archive');
    this.origin = bits.take(24);
    this.#readAlphabet();
    const tableCount = bits.take(3);
    if (tableCount < 2 || tableCount > 6) throw damaged();
    this.#readSelectors(tableCount);
    this.#tables = Array.from({ length: tableCount }, () => this.#readTable(this.#endSymbol + 1));
    this.length = this.#group = this.#run = 0;
    this.#runBit = 1;
  }

  #readAlphabet(): void {
    const bits = this.#bits;
    const ranges = bits.take(16);
    let count = 0;
    for (let i = 0; i < 16; i++) {
      if (((ranges >> (15 - i)) & 1) === 0) continue;
      const used = bits.take(16);
      for (let j = 0; j < 16; j++) if (((used >> (15 - j)) & 1) === 1) this.#order[count++] = 16 * i + j;
    }
    if (count === 0) throw damaged();
    this.#endSymbol = count + 1;
  }

  #readSelectors(tableCount: number): void {
    const bits = this.#bits;
    const count = bits.take(15);
    if (count === 0) throw damaged();
    const order = [0, 1, 2, 3, 4, 5];
    for (let i = 0; i < count; i++) {
      let index = 0;
      while (bits.take(1) === 1) if (++index >= tableCount) throw damaged();
      order.unshift(...order.splice(index, 1));
      // More selectors than groups are legal and unused.
      if (i < SELECTORS_MAX) this.#selectors[i] = order[0]!;
    }
    this.#selectorCount = Math.min(count, SELECTORS_MAX);
  }

  #readTable(symbolCount: number): CodeTable {
    const bits = this.#bits;
    const lengths = new Uint8Array(symbolCount);
    let length = bits.take(5);
    for (let i = 0; i < symbolCount; i++) {
      for (;;) {
        if (length < 1 || length > LENGTH_MAX) throw damaged();
        if (bits.take(1) === 0) break;
        length += bits.take(1) === 0 ? 1 : -1;
      }
      lengths[i] = length;
    }
    return tableOf(lengths);
  }

  /**
   * Decodes up to 50 symbols, for which `GROUP_BYTES` must be buffered (or the input ended); returns true after the
   * block's last.
   */
  readGroup(): boolean {
    if (this.#group >= this.#selectorCount) throw damaged();
    const { fast, limits, bases, symbols } = this.#tables[this.#selectors[this.#group++]!]!;
    const bits = this.#bits;
    const { bytes } = bits;
    let { at, value, count } = bits;
    let isEnd = false;
    for (let i = 0; i < GROUP_SYMBOLS && !isEnd; i++) {
      while (count <= 24) {
        value = (value << 8) | bytes[at++]!;
        count += 8;
      }
      const entry = fast[(value >>> (count - FAST_BITS)) & (2 ** FAST_BITS - 1)]!;
      let symbol: number;
      if (entry !== 0) {
        count -= entry & 31;
        symbol = entry >> 5;
      } else {
        let length = FAST_BITS + 1;
        let code = (value >>> (count - length)) & ((1 << length) - 1);
        while (length <= LENGTH_MAX && code > limits[length]!) {
          length++;
          code = (value >>> (count - length)) & ((1 << length) - 1);
        }
        if (length > LENGTH_MAX) throw damaged();
        count -= length;
        symbol = symbols[code - bases[length]!] ?? SYMBOLS_MAX;
      }
      isEnd = this.#put(symbol);
    }
    bits.at = at;
    bits.value = value;
    bits.count = count;
    bits.check();
    return isEnd;
  }

  /** Applies one symbol: part of a run length, a byte by its index in most-recently-used order, or the end. */
  #put(symbol: number): boolean {
    if (symbol <= 1) {
      if (this.#runBit > 1 << 20) throw damaged();
      this.#run += this.#runBit << symbol;
      this.#runBit <<= 1;
      return false;
    }
    const order = this.#order;
    if (this.#run > 0) {
      const end = this.length + this.#run;
      if (end > this.cells.length) throw damaged();
      this.cells.fill(order[0]!, this.length, end);
      this.length = end;
      this.#run = 0;
      this.#runBit = 1;
    }
    if (symbol >= this.#endSymbol) {
      if (symbol > this.#endSymbol) throw damaged();
      return true;
    }
    const index = symbol - 1;
    const byte = order[index]!;
    if (index > 24) order.copyWithin(1, 0, index);
    else for (let i = index; i > 0; i--) order[i] = order[i - 1]!;
    order[0] = byte;
    if (this.length >= this.cells.length) throw damaged();
    this.cells[this.length++] = byte;
    return false;
  }

  /**
   * Inverts the sort: afterwards each cell links to the next one in its upper 24 bits. Returns the index of the first.
   */
  unsort(): number {
    const { cells, length, origin } = this;
    if (origin >= length) throw damaged();
    const places = new Int32Array(257);
    for (let i = 0; i < length; i++) places[cells[i]! + 1]!++;
    for (let i = 1; i < 257; i++) places[i]! += places[i - 1]!;
    for (let i = 0; i < length; i++) {
      const place = places[cells[i]! & 0xff]!++;
      cells[place]! |= i << 8;
    }
    return cells[origin]! >>> 8;
  }
}

function tableOf(lengths: Uint8Array): CodeTable {
  const limits = new Int32Array(LENGTH_MAX + 1).fill(-1);
  const bases = new Int32Array(LENGTH_MAX + 1);
  const symbols = new Uint16Array(lengths.length);
  const fast = new Uint16Array(2 ** FAST_BITS);
  let code = 0;
  let place = 0;
  for (let length = 1; length <= LENGTH_MAX; length++) {
    bases[length] = code - place;
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] !== length) continue;
      symbols[place++] = symbol;
      if (length <= FAST_BITS) {
        const first = code << (FAST_BITS - length);
        fast.fill((symbol << 5) | length, first, first + (1 << (FAST_BITS - length)));
      }
      limits[length] = code++;
    }
    code <<= 1;
  }
  return { fast, limits, bases, symbols };
}

function damaged(): Damage {
  return new Damage('the bzip2 data is damaged');
}
