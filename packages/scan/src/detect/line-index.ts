import type { KeywordScanner } from './keywords/scanner.ts';
import type { ScannedChunk } from './plan.ts';

/** A line and column, both from 1; columns count bytes. */
export interface Place {
  line: number;
  column: number;
}

/** Newlines before an offset, and the beginning of the line that contains it. Plain data. */
export interface LineState {
  at: number;
  newlines: number;
  line_start: number;
}

/** Counts the lines of one object as its chunks pass. */
export class LineIndex {
  readonly #scanner: KeywordScanner;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  /** Newlines before `#anchor`, and the offset at which its line begins. */
  #anchor: number;
  #newlines: number;
  #lineStart: number;
  /** The same for the last request; requests are nearly in order. */
  #at: number;
  #newlinesAt: number;
  #lineStartAt: number;

  constructor(scanner: KeywordScanner, { at, newlines, line_start }: LineState = lineStateAt(0)) {
    this.#scanner = scanner;
    this.#anchor = this.#at = at;
    this.#newlines = this.#newlinesAt = newlines;
    this.#lineStart = this.#lineStartAt = line_start;
  }

  /** At the offset that was passed to `leave`. */
  get state(): LineState {
    return { at: this.#anchor, newlines: this.#newlines, line_start: this.#lineStart };
  }

  enter(chunk: ScannedChunk): void {
    this.#chunk = chunk;
  }

  /** Returns the line and column of an offset within the chunk, not before the offset passed to `leave`. */
  place(offset: number): Place {
    if (offset < this.#at) this.#rewind();
    this.#move(offset);
    return { line: this.#newlinesAt + 1, column: offset - this.#lineStartAt + 1 };
  }

  /** Declares that positions before `offset` are not requested any more. */
  leave(offset: number): void {
    if (offset <= this.#anchor) return;
    if (offset < this.#at) this.#rewind();
    this.#move(offset);
    this.#anchor = this.#at;
    this.#newlines = this.#newlinesAt;
    this.#lineStart = this.#lineStartAt;
  }

  #rewind(): void {
    this.#at = this.#anchor;
    this.#newlinesAt = this.#newlines;
    this.#lineStartAt = this.#lineStart;
  }

  #move(offset: number): void {
    const shift = this.#chunk.address - this.#chunk.base_offset;
    const count = this.#scanner.countNewlines(this.#at + shift, offset + shift);
    if (count > 0) this.#lineStartAt = this.#scanner.lastNewline(this.#at + shift, offset + shift) - shift + 1;
    this.#newlinesAt += count;
    this.#at = offset;
  }
}

/** Returns the state at an offset from which lines are counted. */
export function lineStateAt(offset: number): LineState {
  return { at: offset, newlines: 0, line_start: offset };
}
