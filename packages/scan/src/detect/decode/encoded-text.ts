import type { KeywordScanner } from '../keywords/scanner.ts';
import type { ScannedChunk } from '../plan.ts';
import { BASE64_SAMPLE, looksLikeText } from './base64.ts';
import { type Piece, PieceCutter } from './pieces.ts';
import { type Block, type ByteAt, WrappedRuns } from './wrapped-runs.ts';

/** Minimum length of a base64 run that is decoded: seventeen bytes of text. */
const RUN_MIN = 24;

/** Bytes around URL escapes that are decoded with them, and the maximum gap between two escapes of one piece. */
export const ESCAPE_CONTEXT = 128;

/** A run of base64 letters that has not ended yet. */
interface OpenRun {
  cutter: PieceCutter;
  /** Null while too little of it is known. */
  plausible: boolean | null;
}

/** What the bytes before a position leave behind: stretches of encoded text that continue. Plain data. */
export interface EncodedState {
  scanned_to: number;
  run: { start: number; next: number; plausible: boolean | null } | null;
  escapes: { next: number; is_first: boolean; last: number } | null;
  block: Readonly<Block> | null;
}

/** Finds encoded text in one text, chunk after chunk. A piece is returned once all of its bytes are available. */
export class EncodedText {
  readonly #scanner: KeywordScanner;
  readonly #wrapped: WrappedRuns;
  #scannedTo: number;
  #run: OpenRun | null = null;
  #escapes: { cutter: PieceCutter; last: number } | null = null;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  #readableTo = 0;

  constructor(scanner: KeywordScanner, { scanned_to, run, escapes, block }: EncodedState = encodedStateAt(0)) {
    this.#scanner = scanner;
    this.#scannedTo = scanned_to;
    this.#wrapped = new WrappedRuns(block === null ? null : { ...block });
    if (run !== null) this.#run = { cutter: new PieceCutter('base64', run.start, run.next), plausible: run.plausible };
    if (escapes === null) return;
    const { next, is_first, last } = escapes;
    this.#escapes = { cutter: new PieceCutter('url', is_first ? next : -1, next), last };
  }

  get state(): EncodedState {
    const run = this.#run;
    const escapes = this.#escapes;
    return {
      scanned_to: this.#scannedTo,
      run: run === null ? null : { start: run.cutter.start, next: run.cutter.next, plausible: run.plausible },
      escapes:
        escapes === null
          ? null
          : { next: escapes.cutter.next, is_first: escapes.cutter.next === escapes.cutter.start, last: escapes.last },
      block: this.#wrapped.block === null ? null : { ...this.#wrapped.block },
    };
  }

  /**
   * Returns the pieces that this chunk completes, in the order of their ends.
   *
   * @param lookahead bytes after the chunk that may be read
   */
  feed(chunk: ScannedChunk, lookahead = 0): Piece[] {
    this.#chunk = chunk;
    this.#readableTo = chunk.base_offset + chunk.length + lookahead;
    const pieces: Piece[] = [];
    const end = chunk.base_offset + chunk.length;
    // An escape has three bytes; one that the chunk cuts is left to the next.
    const to = chunk.last ? end : Math.max(this.#scannedTo, end - 2);
    const shift = chunk.address - chunk.base_offset;
    const open = this.#run === null ? 0 : this.#scannedTo - this.#run.cutter.start;
    const found = this.#scanner.findEncoded(this.#scannedTo + shift, to + shift, end + shift, open, RUN_MIN);
    for (const { address, length } of found.records) {
      if (length === 0) this.#escape(address - shift, pieces);
      else this.#endRun(address - shift, length, pieces);
    }
    this.#scannedTo = to;
    this.#carryRun(found.open, pieces);
    this.#settleWrapped(found.open, pieces);
    this.#carryEscapes(pieces);
    return pieces;
  }

  #isPlausible(start: number): boolean {
    return looksLikeText(this.#scanner.bytes, start - this.#chunk.base_offset + this.#chunk.address);
  }

  #endRun(end: number, length: number, pieces: Piece[]): void {
    const start = end - length;
    const run = this.#run?.cutter.start === start ? this.#run : null;
    this.#run = null;
    this.#wrapped.run(start, end, this.#byteAt, (at) => this.#isPlausible(at), pieces);
    if (!(run?.plausible ?? this.#isPlausible(start))) return;
    pieces.push(...(run?.cutter ?? new PieceCutter('base64', start)).close(end));
  }

  /** Returns the pieces of an open run that are already certain. */
  #carryRun(length: number, pieces: Piece[]): void {
    if (length === 0) {
      this.#run = null;
      return;
    }
    const start = this.#scannedTo - length;
    const run =
      this.#run?.cutter.start === start ? this.#run : { cutter: new PieceCutter('base64', start), plausible: null };
    this.#run = run;
    if (length >= BASE64_SAMPLE) run.plausible ??= this.#isPlausible(start);
    if (this.#chunk.last) {
      this.#run = null;
      if (length >= RUN_MIN && run.plausible === true) pieces.push(...run.cutter.close(this.#scannedTo));
    } else if (run.plausible === true) pieces.push(...run.cutter.open(this.#scannedTo));
  }

  #settleWrapped(open: number, pieces: Piece[]): void {
    const { last } = this.#chunk;
    const start = this.#scannedTo - open;
    // The last run of a text has no terminator.
    if (last && open >= RUN_MIN) {
      this.#wrapped.run(start, this.#scannedTo, this.#byteAt, (at) => this.#isPlausible(at), pieces);
    }
    this.#wrapped.settle(this.#scannedTo, open > 0 ? start : null, last, this.#byteAt, pieces);
  }

  readonly #byteAt: ByteAt = (offset) => {
    if (offset >= this.#readableTo) return -1;
    return this.#scanner.bytes[offset - this.#chunk.base_offset + this.#chunk.address]!;
  };

  #escape(at: number, pieces: Piece[]): void {
    if (this.#escapes !== null && at > this.#escapes.last + ESCAPE_CONTEXT) this.#endEscapes(pieces);
    this.#escapes ??= { cutter: new PieceCutter('url', Math.max(0, at - ESCAPE_CONTEXT)), last: at };
    this.#escapes.last = at + 3;
  }

  #endEscapes(pieces: Piece[]): void {
    if (this.#escapes === null) return;
    const end = Math.min(this.#escapes.last + ESCAPE_CONTEXT, this.#chunk.base_offset + this.#chunk.length);
    pieces.push(...this.#escapes.cutter.close(end));
    this.#escapes = null;
  }

  #carryEscapes(pieces: Piece[]): void {
    if (this.#escapes === null) return;
    if (this.#chunk.last || this.#scannedTo > this.#escapes.last + ESCAPE_CONTEXT) this.#endEscapes(pieces);
    else pieces.push(...this.#escapes.cutter.open(this.#escapes.last));
  }
}

/** Returns the state at an offset before which there is nothing. */
export function encodedStateAt(offset: number): EncodedState {
  return { scanned_to: offset, run: null, escapes: null, block: null };
}
