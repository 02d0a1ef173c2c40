import { readFileSync } from 'node:fs';
import type { KeywordAutomaton } from './trie.ts';

interface AutomatonExports {
  configure(
    classes: number,
    root: number,
    warm: number,
    hits: number,
    capacity: number,
    counts: number,
    beginnings: number,
    aheads: number,
  ): void;
  scan: (begin: number, end: number, floor: number, limit: number) => number;
  scanFew: (begin: number, end: number, floor: number, limit: number) => number;
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

/** The module's own data lies below; AssemblyScript keeps a few constants there. */
const BASE = 4096;

const BEGINNINGS_BYTES = 96;

const LANES = 4;

/** Hits of one lane; a block whose hits do not fit is halved, down to one that cannot overflow. */
const LANE_CAPACITY = 4096;

const BLOCK_BYTES = 128 * 1024;

/** For the look-aheads of all states. */
const LOOK_AHEAD_BYTES = 1024 * 1024;

let compiled: object | undefined;

/** Compiled once per thread. */
function automatonModule(): object {
  compiled ??= new wasm.Module(readFileSync(new URL('./automaton.wasm', import.meta.url)));
  return compiled;
}

/** Receives the end of a keyword: `state` identifies the keywords, `end` is the address after the last byte. */
export type HitVisitor = (end: number, state: number) => void;

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
  readonly #counts: number;
  readonly #root: number;
  readonly #rowBytes: number;
  #free: number;
  #lookAheadBytesLeft = LOOK_AHEAD_BYTES;

  /** `bufferBytes`: the total that `allocate` may hand out. */
  constructor(automaton: KeywordAutomaton, bufferBytes: number) {
    const { classOf, classes, states, beginnings } = automaton;
    // An odd number of cache lines, so that the beginnings of rows use all sets of the cache; the last word of a row is
    // the address of its look-ahead.
    this.#rowBytes = (Math.ceil(((classes + 1) * 4) / 64) | 1) * 64;
    const classesAt = BASE;
    const beginningsAt = classesAt + 512;
    this.#root = align(beginningsAt + BEGINNINGS_BYTES);
    this.#counts = align(this.#root + states * this.#rowBytes);
    this.#hits = this.#counts + 16;
    this.#free = align(this.#hits + LANES * LANE_CAPACITY * 8);
    const pages = Math.ceil((this.#free + LOOK_AHEAD_BYTES + bufferBytes) / PAGE_BYTES);
    const memory = new wasm.Memory({ initial: pages, maximum: pages });
    this.bytes = Buffer.from(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
    const instance = new wasm.Instance(automatonModule(), { env: { memory } });
    this.#exports = instance.exports as AutomatonExports;
    for (let byte = 0; byte < 256; byte++) this.bytes.writeUInt16LE(classOf[byte]! * 4, classesAt + byte * 2);
    this.#writeTable(automaton);
    const warm = Math.max(0, automaton.longest - 1);
    this.#exports.configure(
      classesAt,
      this.#root,
      warm,
      this.#hits,
      LANE_CAPACITY,
      this.#counts,
      beginningsAt,
      this.#rowBytes - 4,
    );
    if (beginnings !== null) this.bytes.set(beginnings, beginningsAt);
    this.#find = beginnings === null ? this.#exports.scan : this.#exports.scanFew;
  }

  #writeTable({ next, first, classes, states }: KeywordAutomaton): void {
    for (let state = 0; state < states; state++) {
      const row = (this.#root + state * this.#rowBytes) >> 2;
      for (let each = 0; each < classes; each++) {
        const to = next[state * classes + each]!;
        this.#words[row + each] = (this.#root + to * this.#rowBytes) | (first[to + 1]! > first[to]! ? 1 : 0);
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
    this.#words[((this.#root + (state + 1) * this.#rowBytes) >> 2) - 1] = table?.byteOffset ?? 0;
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
      if (found > 0) this.#visitHits(visit);
      at = stop;
      size = Math.min(BLOCK_BYTES, size * 2);
    }
  }

  #visitHits(visit: HitVisitor): void {
    const words = this.#words;
    const root = this.#root;
    const rowBytes = this.#rowBytes;
    for (let lane = 0; lane < LANES; lane++) {
      const from = (this.#hits >> 2) + lane * LANE_CAPACITY * 2;
      const to = from + words[(this.#counts >> 2) + lane]! * 2;
      for (let at = from; at < to; at += 2) visit(words[at]!, ((words[at + 1]! - root) / rowBytes) | 0);
    }
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
