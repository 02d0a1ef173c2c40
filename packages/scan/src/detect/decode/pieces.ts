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

/** Maximum bytes of one piece, and the distance between the starts of two pieces. */
export const PIECE_BYTES = 16_384;
const PIECE_STEP = 8192;
const PIECE_SHARE = 4096;

/**
 * Divides a stretch of encoded text into pieces as it is read. Pieces of base64 begin at fixed distances from its
 * beginning, since they consist of whole groups of letters, pieces with URL escapes at fixed offsets of the text.
 */
export class PieceCutter {
  readonly encoding: Piece['encoding'];
  readonly start: number;
  #next: number;

  /** @param next where the next piece begins, if the first ones were already returned */
  constructor(encoding: Piece['encoding'], start: number, next = start) {
    this.encoding = encoding;
    this.start = start;
    this.#next = next;
  }

  get next(): number {
    return this.#next;
  }

  /** Returns the pieces that are certain while the stretch is known to continue past `end`. */
  *open(end: number): Generator<Piece> {
    for (let following = this.#following; following + PIECE_STEP < end; following = this.#following) {
      yield this.#piece(following + PIECE_STEP, following + PIECE_SHARE);
      this.#next = following;
    }
  }

  /** Where the piece after the next one begins. */
  get #following(): number {
    const origin = this.encoding === 'url' ? 0 : this.start;
    return origin + (Math.floor((this.#next - origin) / PIECE_STEP) + 1) * PIECE_STEP;
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
