import { readFileSync } from 'node:fs';
import type { KeywordAutomaton } from './trie.ts';

interface AutomatonExports {
  configure(warm: number, hits: number, capacity: number, beginnings: number, aheads: number): void;
  scan: (begin: number, end: number, floor: number, limit: number) => number;
  scanWide: AutomatonExports['scan'];
  scanFew: AutomatonExports['scan'];
  countNewlines(begin: number, end: number): number;
  lastNewline(begin: number, end: number): number;
  findEncoded(begin: number, end: number, limit: number, open: number, minimum: number): number;
  openRun: { value: number };
}

/** The part of WebAssembly used here; TypeScript declares it only among the types of a browser. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
  Instance: new (module: object, imports: { env: { memory: object } }) => { exports: object };
}

const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: WebAssemblyApi };

const PAGE_BYTES = 65_536;

/** Of one u32 per byte, as in automaton.as; AssemblyScript keeps a few constants below. */
const CLASSES = 4096;

const BEGINNINGS_BYTES = 96;

/** Cells of one state that lie together. */
const LINE_CELLS = 32;

/** A cell has the number of a state, and a bit that says whether a keyword ends there. */
const NARROW = { bytes: 2, ends: 0x8000 };
const WIDE = { bytes: 4, ends: 0x8000_0000 };

/** Hits of one block; one whose hits do not fit is halved, down to one that cannot overflow. */
const HITS_MAX = 16_384;
/** End, state and outcome. */
const HIT_WORDS = 3;

const BLOCK_BYTES = 128 * 1024;

/** For the look-aheads of all states. */
const LOOK_AHEAD_BYTES = 1024 * 1024;

let compiled: object | undefined;

/** Compiled once per thread. */
function automatonModule(): object {
  compiled ??= new wasm.Module(readFileSync(new URL('./automaton.wasm', import.meta.url)));
  return compiled;
}

/**
 * Receives the end of a keyword: `state` identifies the keywords, `end` is the address after the last byte, `outcome` where
 * the look-ahead of the state ended.
 */
export type HitVisitor = (end: number, state: number, outcome: number) => void;

/**
 * Owns one WebAssembly memory: the automaton, its hits, and the buffers it scans. Addresses are offsets in that
 * memory.
 */
export class KeywordScanner {
  readonly bytes: Buffer;
  readonly #exports: AutomatonExports;
  readonly #find: AutomatonExports['scan'];
  readonly #words: Uint32Array;
  readonly #hits: number;
  readonly #aheads: number;
  #free: number;
  #lookAheadBytesLeft = LOOK_AHEAD_BYTES;

  /** `bufferBytes`: the total that `allocate` may hand out. */
  constructor(automaton: KeywordAutomaton, bufferBytes: number) {
    const { classes, states, beginnings } = automaton;
    const cell = states <= NARROW.ends ? NARROW : WIDE;
    const beginningsAt = CLASSES + 256 * 4;
    const cellsAt = align(beginningsAt + BEGINNINGS_BYTES);
    this.#aheads = cellsAt + Math.ceil(classes / LINE_CELLS) * states * LINE_CELLS * cell.bytes;
    this.#hits = align(this.#aheads + states * 4);
    // As they are found, those that may match, and these in order.
    this.#free = this.#hits + HITS_MAX * (8 + 2 * HIT_WORDS * 4);
    const pages = Math.ceil((this.#free + LOOK_AHEAD_BYTES + bufferBytes) / PAGE_BYTES);
    const memory = new wasm.Memory({ initial: pages, maximum: pages });
    this.bytes = Buffer.from(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
    const instance = new wasm.Instance(automatonModule(), { env: { memory } });
    this.#exports = instance.exports as AutomatonExports;
    this.#writeCells(automaton, cell, cellsAt);
    const warm = Math.max(0, automaton.longest - 1);
    this.#exports.configure(warm, this.#hits, HITS_MAX, beginningsAt, this.#aheads);
    if (beginnings !== null) this.bytes.set(beginnings, beginningsAt);
    const { scan, scanWide, scanFew } = this.#exports;
    this.#find = cell === WIDE ? scanWide : beginnings === null ? scan : scanFew;
  }

  #writeCells({ classOf, next, first, classes, states }: KeywordAutomaton, cell: typeof NARROW, cellsAt: number): void {
    const memory = this.bytes.buffer;
    const cells = cell === NARROW ? new Uint16Array(memory, cellsAt) : new Uint32Array(memory, cellsAt);
    const placeOf = (state: number, each: number): number =>
      (Math.floor(each / LINE_CELLS) * states + state) * LINE_CELLS + (each % LINE_CELLS);
    for (let byte = 0; byte < 256; byte++)
      this.#words[(CLASSES >> 2) + byte] = cellsAt + placeOf(0, classOf[byte]!) * cell.bytes;
    for (let each = 0; each < classes; each++) {
      const column = placeOf(0, each);
      for (let state = 0; state < states; state++) {
        const to = next[state * classes + each]!;
        cells[column + state * LINE_CELLS] = to + (first[to + 1]! > first[to]! ? cell.ends : 0);
      }
    }
  }

  /** Returns the address of `length` bytes that are never freed. Throws if the memory is exhausted. */
  allocate(length: number): number {
    const address = this.#free;
    if (address + length > this.bytes.length) throw new Error('keyword scanner: its memory is used up');
    this.#free = align(address + length);
    return address;
  }

  /** Returns zeros in the memory of the automaton, for look-aheads; null if there is no more. */
  allocateLookAhead(length: number): Int32Array | null {
    const bytes = align(length * 4);
    if (bytes > this.#lookAheadBytesLeft) return null;
    this.#lookAheadBytesLeft -= bytes;
    return new Int32Array(this.bytes.buffer, this.allocate(bytes), length);
  }

  /** Leaves out the hits of a state of which a look-ahead knows that nothing matches; null: leaves out none. */
  lookAhead(state: number, table: Int32Array | null): void {
    this.#words[(this.#aheads >> 2) + state] = table?.byteOffset ?? 0;
  }

  /**
   * Visits the keywords that end in `(begin, end]` in the order of their ends, without those that look-aheads leave
   * out. Bytes may be read from `floor` on and before `limit`. The visitor must not scan.
   */
  scan(begin: number, end: number, { floor, limit }: { floor: number; limit: number }, visit: HitVisitor): void {
    let size = BLOCK_BYTES;
    for (let at = begin; at < end;) {
      const stop = Math.min(end, at + size);
      const found = this.#find(at, stop, floor, limit);
      if (found < 0) {
        size >>= 1;
        continue;
      }
      this.#visitHits(found, visit);
      at = stop;
      size = Math.min(BLOCK_BYTES, size * 2);
    }
  }

  #visitHits(count: number, visit: HitVisitor): void {
    const words = this.#words;
    const from = this.#hits >> 2;
    const to = from + HIT_WORDS * count;
    for (let at = from; at < to; at += HIT_WORDS) visit(words[at]!, words[at + 1]!, words[at + 2]! | 0);
  }

  /**
   * Visits encoded text in `[begin, end)`: with `length` 0 the address of a URL escape, else the address after a run
   * of at least `minimum` base64 letters, including `open` letters before `begin`. Returns how many letters directly
   * precede `end`.
   */
  findEncoded(
    begin: number,
    end: number,
    limit: number,
    open: number,
    minimum: number,
  ): { records: { address: number; length: number }[]; open: number } {
    const records: { address: number; length: number }[] = [];
    let size = BLOCK_BYTES;
    let carried = open;
    for (let at = begin; at < end;) {
      const stop = Math.min(end, at + size);
      const found = this.#exports.findEncoded(at, stop, limit, carried, minimum);
      if (found < 0) {
        size >>= 1;
        continue;
      }
      const from = this.#hits >> 2;
      for (let word = from; word < from + found * 2; word += 2) {
        records.push({ address: this.#words[word]!, length: this.#words[word + 1]! });
      }
      carried = this.#exports.openRun.value;
      at = stop;
    }
    return { records, open: carried };
  }

  countNewlines(begin: number, end: number): number {
    return this.#exports.countNewlines(begin, end);
  }

  /** Returns the address of the last newline in `[begin, end)`, or -1. */
  lastNewline(begin: number, end: number): number {
    return this.#exports.lastNewline(begin, end);
  }
}

function align(address: number): number {
  return (address + 63) & ~63;
}
