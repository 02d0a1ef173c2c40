import type { Encoding } from '../result.ts';
import { base64Source, decodeBase64, decodeWrapped } from './decode/base64.ts';
import { EncodedText } from './decode/encoded-text.ts';
import type { Piece } from './decode/pieces.ts';
import { decodeUrl, urlSource } from './decode/url.ts';
import { decodeUtf16, detectUtf16 } from './decode/utf16.ts';
import { wrappedSource } from './decode/wrapped-runs.ts';
import { Layer, type ObjectGate } from './layer.ts';
import type { Candidate } from './matches.ts';
import type { DetectionPlan } from './plan.ts';
import type { DetectionTrace } from './trace.ts';

/** Maps an offset in decoded text to its source; `end` for offsets after the last byte. */
type Source = (offset: number, end: boolean) => number;

/** A piece and its containing text: the shift to memory addresses, and the source of that text. */
interface LocatedPiece {
  piece: Piece;
  shift: number;
  encodings: readonly Encoding[];
  source: Source;
}

export interface EncodedSearchParts {
  plan: DetectionPlan;
  gate: ObjectGate;
  /** Memory for one decoded piece per level. */
  scratch: readonly number[];
  accept: (candidate: Candidate, encodings: readonly Encoding[]) => void;
  trace: DetectionTrace | null;
}

/** Decodes pieces of encoded text and searches them and their nested encodings, to a bounded depth. */
export class EncodedSearch {
  readonly #plan: DetectionPlan;
  readonly #gate: ObjectGate;
  readonly #scratch: readonly number[];
  readonly #accept: EncodedSearchParts['accept'];
  readonly #trace: DetectionTrace | null;

  constructor({ plan, gate, scratch, accept, trace }: EncodedSearchParts) {
    this.#plan = plan;
    this.#gate = gate;
    this.#scratch = scratch;
    this.#accept = accept;
    this.#trace = trace;
  }

  /** `shift`: added to an offset of the piece, yields its address. */
  search(piece: Piece, shift: number): void {
    this.#search({ piece, shift, encodings: [], source: (offset) => offset }, 0);
  }

  #search(held: LocatedPiece, level: number): void {
    const address = this.#scratch[level];
    if (address === undefined) return;
    const { length, encodings, source } = this.#decode(held, address);
    const chunk = { address, length, base_offset: 0, last: true };
    if (this.#trace !== null) {
      const { start, end } = held.piece;
      this.#trace.decoded({
        start: held.source(start, false),
        end: held.source(end, true),
        encodings,
        address,
        length,
      });
    }
    const accept = (candidate: Candidate): void => {
      const start = source(candidate.start, false);
      const end = source(candidate.end, true);
      if (isOwn(held.piece, start, end, candidate)) {
        this.#accept({ ...candidate, start: held.source(start, false), end: held.source(end, true) }, encodings);
      }
    };
    const layer = new Layer(this.#plan, this.#gate, accept);
    layer.feed(chunk);
    if (level + 1 >= this.#scratch.length) return;
    for (const piece of new EncodedText(this.#plan.scanner).feed(chunk)) {
      const outer: Source = (offset, end) => held.source(source(offset, end), end);
      this.#search({ piece, shift: address, encodings, source: outer }, level + 1);
    }
  }

  #decode(
    { piece, shift, encodings }: LocatedPiece,
    address: number,
  ): { length: number; encodings: Encoding[]; source: Source } {
    const { bytes } = this.#plan.scanner;
    const start = piece.start + shift;
    const end = piece.end + shift;
    if (piece.encoding === 'url') {
      const source: Source = (offset) => piece.start + urlSource(bytes, start, end, offset);
      return { length: decodeUrl(bytes, start, end, address), encodings: [...encodings, 'url'], source };
    }
    const { wrap } = piece;
    const length =
      wrap === undefined ? decodeBase64(bytes, start, end, address) : decodeWrapped(bytes, start, end, address, wrap);
    const utf16 = detectUtf16(bytes, address, length);
    const source: Source = (offset, isEnd) => {
      const letters = base64Source(offset, isEnd);
      return piece.start + (wrap === undefined ? letters : wrappedSource(wrap, letters, isEnd));
    };
    if (utf16 === null) return { length, encodings: [...encodings, 'base64'], source };
    return {
      length: decodeUtf16(bytes, address, address + length, { bytes, address }, utf16),
      encodings: [...encodings, 'base64', utf16],
      source: (offset, isEnd) => source(offset * 2, isEnd),
    };
  }
}

/** Text without escapes is found in its plain form; what two pieces contain is found in one of them. */
function isOwn(piece: Piece, start: number, end: number, candidate: Candidate): boolean {
  if (start < piece.ownStart || start >= piece.ownEnd) return false;
  return piece.encoding !== 'url' || end - start > candidate.end - candidate.start;
}
