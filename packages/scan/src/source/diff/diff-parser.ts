import { unquoted } from './quoted-path.ts';

/** Receives a diff in order. Offsets are bytes of the diff. */
export interface DiffSink {
  /** A file begins; what belongs to it ends at `end` or at the next file. `path`: null if the file was deleted. */
  file?(path: string | null, from: number): void;
  /** The next line of the new version has this number, from 1. */
  hunk?(line: number): void;
  /** A line of the new version that was there before. */
  unchanged?(): void;
  /** A piece of an added line; its last one is followed by `addedEnd`. */
  added?(piece: Uint8Array): void;
  addedEnd?(): void;
}

/** Longer lines outside of hunks are no headers. */
const HEADER_BYTES_MAX = 64 * 1024;
const NEWLINE = 0x0a;
const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;
const BACKSLASH = 0x5c;

/** `@@ -1,2 +3,4 @@`, with one more sign and range for each further parent of a merge. */
const HUNK = /^(@@+) ((?:-\d+(?:,\d+)? )+)\+(\d+)(?:,(\d+))? \1/;

type Line = 'header' | 'added' | 'other';

/**
 * Parses a unified diff, of git (also combined ones of merges, and those of `git log -p`) or of `diff -u`. What is
 * neither a header nor within a hunk is skipped, so that text around a diff does not matter. Memory: one header line.
 */
export class DiffParser {
  readonly #sink: DiffSink;
  /** Bytes parsed. */
  #at = 0;
  /** Where the current line begins. */
  #lineAt = 0;
  /** The beginning of the current line that decides what it is. */
  #head: number[] = [];
  #line: Line | null = null;
  /** Lines of the current hunk that are still to come. */
  #oldLeft = 0;
  #newLeft = 0;
  /** Characters before each line of a hunk: one for each parent. */
  #signs = 1;
  /** Where the headers of the current file begin; null: not within headers. */
  #headersAt: number | null = null;
  /** Whether git prefixed the paths by a letter. */
  #isPrefixed = false;

  constructor(sink: DiffSink) {
    this.#sink = sink;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    while (from < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, from);
      const end = newline === -1 ? chunk.length : newline;
      this.#piece(chunk.subarray(from, end));
      this.#at += end - from;
      if (newline === -1) return;
      this.#endLine();
      this.#at += 1;
      this.#lineAt = this.#at;
      from = newline + 1;
    }
  }

  /** The diff ends, perhaps without a newline. */
  end(): void {
    if (this.#at > this.#lineAt) this.#endLine();
  }

  get #isInHunk(): boolean {
    return this.#newLeft > 0 || this.#oldLeft > 0;
  }

  #piece(bytes: Uint8Array): void {
    let rest = bytes;
    if (this.#line === null) {
      const needed = this.#isInHunk ? this.#signs - this.#head.length : 0;
      this.#head.push(...rest.subarray(0, needed));
      rest = rest.subarray(needed);
      if (this.#isInHunk && this.#head.length < this.#signs) return;
      this.#beginLine();
    }
    if (this.#line === 'added') this.#sink.added?.(rest);
    else if (this.#line === 'header') {
      if (this.#head.length + rest.length > HEADER_BYTES_MAX) this.#line = 'other';
      else for (const byte of rest) this.#head.push(byte);
    }
  }

  /** Decides what a line is, from its signs. */
  #beginLine(): void {
    if (!this.#isInHunk) {
      this.#line = 'header';
      return;
    }
    const signs = this.#head;
    // `\ No newline at end of file` belongs to the line before.
    if (signs[0] === BACKSLASH) this.#line = 'other';
    else if (signs.includes(MINUS)) {
      this.#oldLeft -= 1;
      this.#line = 'other';
    } else if (signs.includes(PLUS)) {
      this.#newLeft -= 1;
      this.#line = 'added';
    } else if (signs.every((sign) => sign === SPACE)) {
      this.#unchanged();
      this.#line = 'other';
    } else {
      // The hunk is shorter than its header says.
      this.#leaveHunk();
      this.#line = 'header';
    }
  }

  #unchanged(): void {
    this.#oldLeft -= 1;
    this.#newLeft -= 1;
    this.#sink.unchanged?.();
  }

  #endLine(): void {
    // Some programs remove the space of an empty unchanged line.
    if (this.#line === null && this.#isInHunk) this.#unchanged();
    else if (this.#line === 'added') this.#sink.addedEnd?.();
    else if (this.#line === 'header') this.#header(Buffer.from(this.#head).toString('utf8'));
    this.#head = [];
    this.#line = null;
  }

  #leaveHunk(): void {
    this.#oldLeft = 0;
    this.#newLeft = 0;
  }

  #header(text: string): void {
    if (text.startsWith('diff ')) {
      this.#headersAt = this.#lineAt;
      this.#isPrefixed = /^diff --(git "?[a-z]\/|(cc|combined) )/.test(text);
    } else if (text.startsWith('--- ')) {
      this.#headersAt ??= this.#lineAt;
    } else if (text.startsWith('+++ ') && this.#headersAt !== null) {
      this.#sink.file?.(this.#pathOf(text.slice(4)), this.#headersAt);
    } else {
      this.#beginHunk(text);
    }
  }

  #beginHunk(text: string): void {
    const [, marks, old, line, count = '1'] = HUNK.exec(text) ?? [];
    if (marks === undefined || old === undefined) return;
    this.#headersAt = null;
    this.#signs = marks.length - 1;
    // A removed line of a combined diff is missing in any number of the parents, so only the new lines are counted.
    const isCombined = this.#signs > 1;
    this.#oldLeft = isCombined ? 0 : Number(/,(\d+)/.exec(old)?.[1] ?? '1');
    this.#newLeft = Number(count);
    this.#sink.hunk?.(Number(line));
  }

  #pathOf(text: string): string | null {
    const path = unquoted(text);
    if (path === '/dev/null') return null;
    return this.#isPrefixed && /^[a-z]\//.test(path) ? path.slice(2) : path;
  }
}
