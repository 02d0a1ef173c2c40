import type { KeywordScanner } from './keywords/scanner.ts';
import type { ScannedChunk } from './plan.ts';

/** A line and column, both from 1; columns count bytes. */
export interface Place {
  line: number;
  column: number;
}

/** Counts the lines of one object as its chunks pass. */
export class LineIndex {
  readonly #scanner: KeywordScanner;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  /** Newlines before `#anchor`, and the offset at which its line begins. */
  #anchor = 0;
  #newlines = 0;
  #lineStart = 0;
  /** The same for the last request; requests are nearly in order. */
  #at = 0;
  #newlinesAt = 0;
  #lineStartAt = 0;

  constructor(scanner: KeywordScanner) {
    this.#scanner = scanner;
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
