import type { KeywordScanner } from './keywords/scanner.ts';
import type { ScannedChunk } from './plan.ts';

/** A place in lines, both from 1; columns count bytes. */
export interface Place {
  line: number;
  column: number;
}

/** Counts the lines of one object as its chunks go by. */
export class LineIndex {
  readonly #scanner: KeywordScanner;
  #chunk: ScannedChunk = { address: 0, length: 0, base_offset: 0, last: false };
  /** Newlines before `#anchor`, and the offset where its line begins. */
  #anchor = 0;
  #newlines = 0;
  #lineStart = 0;
  /** The same at the place that was asked for last; places are asked for nearly in order. */
  #at = 0;
  #newlinesAt = 0;
  #lineStartAt = 0;

  constructor(scanner: KeywordScanner) {
    this.#scanner = scanner;
  }

  enter(chunk: ScannedChunk): void {
    this.#chunk = chunk;
  }

  /** The line and column of an offset within the chunk, not before what `leave` gave up. */
  place(offset: number): Place {
    if (offset < this.#at) this.#rewind();
    this.#move(offset);
    return { line: this.#newlinesAt + 1, column: offset - this.#lineStartAt + 1 };
  }

  /** Places before `offset` will not be asked for any more. */
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
