import { isBase64Letter } from './base64.ts';
import { type Piece, PIECE_BYTES } from './pieces.ts';

/** How base64 is wrapped: letters of a full line and bytes of a line break. */
export interface Wrap {
  width: number;
  break_bytes: number;
}

/** MIME uses 76 letters per line, PEM 64. Longer lines would need more overlap between chunks. */
const WIDTH_MAX = 128;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Consecutive lines of base64, all of one width but the last. */
export interface Block {
  start: number;
  width: number;
  /** 0 until there is a second line. */
  breakBytes: number;
  lines: number;
  /** End of its last line. */
  end: number;
  isFull: boolean;
  /** The line at which the next piece begins. */
  next: number;
}

/** Returns the byte at an offset of the text; -1 past its end. */
export type ByteAt = (offset: number) => number;

/**
 * Joins base64 that is wrapped over lines, in addition to the lines themselves; duplicates become one detection later.
 * The cuts between pieces depend only on the block's beginning.
 */
export class WrappedRuns {
  #block: Block | null;

  constructor(block: Block | null = null) {
    this.#block = block;
  }

  /** The block that has not ended yet. */
  get block(): Readonly<Block> | null {
    return this.#block;
  }

  /** Adds a run of letters that has ended; runs arrive in order. */
  run(start: number, end: number, byteAt: ByteAt, isPlausible: (start: number) => boolean, pieces: Piece[]): void {
    const block = this.#block;
    if (block !== null && this.#continues(block, start, end - start, byteAt)) {
      block.lines += 1;
      block.end = end;
      block.isFull = end - start === block.width;
      this.#cut(block, pieces);
      return;
    }
    this.#close(byteAt, pieces);
    const width = end - start;
    if (width > WIDTH_MAX || width % 4 !== 0 || breakAt(end, byteAt) === 0 || !isPlausible(start)) return;
    this.#block = { start, width, breakBytes: 0, lines: 1, end, isFull: true, next: 0 };
  }

  /** Everything before `scannedTo` was added; `openStart` is the start of an unfinished run. */
  settle(scannedTo: number, openStart: number | null, last: boolean, byteAt: ByteAt, pieces: Piece[]): void {
    const block = this.#block;
    if (block === null) return;
    const nextLine = block.end + breakAt(block.end, byteAt);
    const mayGoOn = scannedTo <= nextLine || (openStart === nextLine && scannedTo - openStart <= block.width);
    if (last || !mayGoOn) this.#close(byteAt, pieces);
  }

  #continues(block: Block, start: number, length: number, byteAt: ByteAt): boolean {
    const breakBytes = breakAt(block.end, byteAt);
    if (!block.isFull || breakBytes === 0 || start !== block.end + breakBytes || length > block.width) return false;
    if (block.breakBytes !== 0 && block.breakBytes !== breakBytes) return false;
    block.breakBytes = breakBytes;
    return true;
  }

  #cut(block: Block, pieces: Piece[]): void {
    const count = Math.floor(PIECE_BYTES / (block.width + block.breakBytes));
    const step = count >> 1;
    while (block.lines > block.next + count) {
      pieces.push(pieceOf(block, block.next + count, block.next + step + (step >> 1)));
      block.next += step;
    }
  }

  #close(byteAt: ByteAt, pieces: Piece[]): void {
    const block = this.#block;
    this.#block = null;
    if (block === null) return;
    if (block.isFull) addTail(block, byteAt);
    if (block.lines < 2) return;
    this.#cut(block, pieces);
    pieces.push(pieceOf(block, block.lines, block.lines));
  }
}

/** Adds a last line that is too short to count as a run. */
function addTail(block: Block, byteAt: ByteAt): void {
  const breakBytes = breakAt(block.end, byteAt);
  if (breakBytes === 0 || (block.breakBytes !== 0 && block.breakBytes !== breakBytes)) return;
  const start = block.end + breakBytes;
  let end = start;
  while (end - start < block.width && isBase64Letter(byteAt(end))) end++;
  if (end === start || isBase64Letter(byteAt(end))) return;
  block.breakBytes = breakBytes;
  block.lines += 1;
  block.end = end;
}

function pieceOf(block: Block, endLine: number, ownEndLine: number): Piece {
  const { start, width, breakBytes, next, lines } = block;
  const lineAt = (line: number): number => start + line * (width + breakBytes);
  const step = Math.floor(PIECE_BYTES / (width + breakBytes)) >> 1;
  const end = endLine === lines ? block.end : lineAt(endLine) - breakBytes;
  return {
    encoding: 'base64',
    start: lineAt(next),
    end,
    ownStart: next === 0 ? start : lineAt(next + (step >> 1)),
    ownEnd: ownEndLine === lines ? block.end : lineAt(ownEndLine),
    wrap: { width, break_bytes: breakBytes },
  };
}

/** Returns the length of the line break at an offset; 0 if there is none. */
function breakAt(offset: number, byteAt: ByteAt): number {
  if (byteAt(offset) === LINE_FEED) return 1;
  return byteAt(offset) === CARRIAGE_RETURN && byteAt(offset + 1) === LINE_FEED ? 2 : 0;
}

/** Returns the source offset of a decoded byte of a wrapped piece, from the piece's beginning. */
export function wrappedSource({ width, break_bytes }: Wrap, letters: number, end: boolean): number {
  const line = Math.floor(letters / width);
  const column = letters - line * width;
  const at = line * (width + break_bytes) + column;
  return end && column === 0 && line > 0 ? at - break_bytes : at;
}
