import type { Wrap } from './wrapped-runs.ts';

/** A stretch of encoded text that is decoded at once; offsets refer to the containing text. */
export interface Piece {
  encoding: 'base64' | 'url';
  start: number;
  end: number;
  /** Range of starts that belong to this piece: pieces of one stretch overlap and divide the overlap. */
  ownStart: number;
  ownEnd: number;
  /** For base64 wrapped over lines: the piece begins at a line start. */
  wrap?: Wrap;
}

/** Bytes of one piece, and the distance between the starts of two pieces. */
export const PIECE_BYTES = 16_384;
const PIECE_STEP = 8192;
const PIECE_SHARE = 4096;

/** Divides a stretch of encoded text into pieces as it is read; the cuts depend only on its beginning. */
export class PieceCutter {
  readonly encoding: Piece['encoding'];
  readonly start: number;
  #next: number;

  constructor(encoding: Piece['encoding'], start: number) {
    this.encoding = encoding;
    this.start = start;
    this.#next = start;
  }

  /** Returns the pieces that are certain while the stretch is known to continue past `end`. */
  *open(end: number): Generator<Piece> {
    while (this.#next + PIECE_BYTES < end) {
      yield this.#piece(this.#next + PIECE_BYTES, this.#next + PIECE_STEP + PIECE_SHARE);
      this.#next += PIECE_STEP;
    }
  }

  /** Returns the rest of a stretch that ends at `end`. */
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
