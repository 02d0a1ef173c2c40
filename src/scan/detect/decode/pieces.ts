import type { Wrap } from './wrapped-runs.ts';

/** A stretch of encoded text that is decoded at once; offsets are of the text that holds it. */
export interface Piece {
  encoding: 'base64' | 'url';
  start: number;
  end: number;
  /** What begins here is this piece's to find: pieces of one stretch overlap, and share out the overlap. */
  ownStart: number;
  ownEnd: number;
  /** Of base64 that is wrapped over lines: the piece begins with a line. */
  wrap?: Wrap;
}

/** Bytes of one piece, and from the beginning of one to that of the next. */
export const PIECE_BYTES = 16_384;
const PIECE_STEP = 8192;
const PIECE_SHARE = 4096;

/** Cuts a stretch of encoded text into pieces as it comes to light; where it is cut depends on its beginning only. */
export class PieceCutter {
  readonly encoding: Piece['encoding'];
  readonly start: number;
  #next: number;

  constructor(encoding: Piece['encoding'], start: number) {
    this.encoding = encoding;
    this.start = start;
    this.#next = start;
  }

  /** Pieces that are certain while the stretch is known to go on behind `end`. */
  *open(end: number): Generator<Piece> {
    while (this.#next + PIECE_BYTES < end) {
      yield this.#piece(this.#next + PIECE_BYTES, this.#next + PIECE_STEP + PIECE_SHARE);
      this.#next += PIECE_STEP;
    }
  }

  /** The rest of a stretch that ends at `end`. */
  *close(end: number): Generator<Piece> {
    yield* this.open(end);
    yield this.#piece(end, end);
  }

  #piece(end: number, ownEnd: number): Piece {
    const first = this.#next === this.start;
    const ownStart = first ? this.start : this.#next + PIECE_SHARE;
    return { encoding: this.encoding, start: this.#next, end, ownStart, ownEnd };
  }
}
