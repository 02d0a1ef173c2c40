import type { ContextLine } from '../result.ts';
import { decodeUtf8 } from './matches.ts';

/** Bounds of one context. */
const LINE_CHARACTERS_MAX = 200;
const CHARACTERS_MAX = 2000;
/** Further lines of a match are left out. */
const MATCH_LINES_MAX = 5;
/** Characters before the match in a line that is cut. */
const BEFORE_MATCH = 60;

const CONTROL = /[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]/;

/** What a cut may leave of a word or of a character: it could be part of a secret. */
const CUT_AT_START = /^[\w+/=~.\-\x80-\xff]*/;
const CUT_AT_END = /[\w+/=~.\-\x80-\xff]*$/;

/** A part of a text, and what is shown instead. */
export interface Mask {
  start: number;
  end: number;
  shown: string;
}

/** A text around a match, with one character per byte. */
export interface MatchText {
  text: string;
  /** In order, without overlaps. */
  masks: readonly Mask[];
  match: { start: number; end: number };
  /** The number of the line in which the match begins. */
  matchLine: number;
  /** Whether the text begins and ends where its object does. */
  isStart: boolean;
  isEnd: boolean;
}

/** Joins overlapping masks; each shows the beginning of what it hides. */
export function merged(masks: readonly Mask[]): Mask[] {
  const joined: Mask[] = [];
  for (const mask of masks.toSorted((left, right) => left.start - right.start || right.end - left.end)) {
    const last = joined.at(-1);
    if (last !== undefined && mask.start < last.end) last.end = Math.max(last.end, mask.end);
    else joined.push({ ...mask });
  }
  return joined;
}

/** Returns the lines of a match, with at most `around` before and after; none if the text is binary. */
export function linesOf(around: number, given: MatchText): ContextLine[] {
  if (CONTROL.test(given.text)) return [];
  const lines = new LineBuilder(given).build();
  // The last line end of an object begins no line.
  if (given.isEnd && lines.at(-1)!.text === '') lines.pop();
  const first = lines.findIndex(({ mark }) => mark !== undefined);
  const last = lines.findLastIndex(({ mark }) => mark !== undefined);
  if (first === -1) return [];
  // A cut line is shown only if it is one of the match.
  const begin = Math.max(first - around, given.isStart ? 0 : Math.min(1, first));
  const end = Math.min(last + around, lines.length - (given.isEnd || last === lines.length - 1 ? 1 : 2));
  return withinBound(
    lines.slice(begin, first).map(shortened),
    lines.slice(first, Math.min(last + 1, first + MATCH_LINES_MAX)).map(shortened),
    lines.slice(last + 1, end + 1).map(shortened),
  );
}

/** Divides a text into lines; the ends of lines in a mask disappear with it. */
class LineBuilder {
  readonly #given: MatchText;
  readonly #mark: { start: number; end: number };
  readonly #lines: ContextLine[] = [];
  #number: number;

  constructor(given: MatchText) {
    const { text, masks, match, matchLine } = given;
    this.#given = given;
    const around = (at: number): Mask | undefined => masks.find(({ start, end }) => start < at && at < end);
    this.#mark = { start: around(match.start)?.start ?? match.start, end: around(match.end)?.end ?? match.end };
    this.#number = matchLine - newlinesIn(text.slice(0, match.start));
  }

  build(): ContextLine[] {
    const { text, masks } = this.#given;
    this.#lines.push({ number: this.#number, text: '' });
    let at = 0;
    for (const mask of masks) {
      this.#addPlain(at, mask.start);
      this.#add(mask.start, mask.shown);
      this.#number += newlinesIn(text.slice(mask.start, mask.end));
      at = mask.end;
    }
    this.#addPlain(at, text.length);
    return this.#lines;
  }

  #addPlain(from: number, to: number): void {
    const { text, isStart, isEnd } = this.#given;
    const stops = [this.#mark.start, this.#mark.end, to].filter((stop) => stop > from && stop <= to);
    let at = from;
    for (const stop of stops) {
      while (at < stop) {
        const newline = text.indexOf('\n', at);
        if (newline === at) this.#lines.push({ number: (this.#number += 1), text: '' });
        const end = newline === at ? at + 1 : Math.min(newline === -1 ? stop : newline, stop);
        let part = newline === at ? '' : text.slice(at, end);
        const [isCutBefore, isCutAfter] = [at === 0 && !isStart, end === text.length && !isEnd];
        if (isCutBefore) part = part.replace(CUT_AT_START, '');
        if (isCutAfter) part = part.replace(CUT_AT_END, '');
        this.#add(at, `${isCutBefore ? '…' : ''}${decodeUtf8(part)}${isCutAfter ? '…' : ''}`);
        at = end;
      }
    }
  }

  #add(from: number, text: string): void {
    const line = this.#lines.at(-1)!;
    const start = line.text.length;
    line.text += text;
    if (text === '' || from < this.#mark.start || from >= this.#mark.end) return;
    line.mark = { start: line.mark?.start ?? start, end: line.text.length };
  }
}

/** Cuts a line to the part around the match. */
function shortened({ number, text, mark }: ContextLine): ContextLine {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text;
  const last = Math.max(0, line.length - LINE_CHARACTERS_MAX);
  const from = Math.min(Math.max(0, (mark?.start ?? 0) - BEFORE_MATCH), last);
  const to = Math.min(line.length, from + LINE_CHARACTERS_MAX);
  const lead = from === 0 ? '' : '…';
  const shown = `${lead}${line.slice(from, to)}${to === line.length ? '' : '…'}`.toWellFormed();
  if (mark === undefined) return { number, text: shown };
  const shift = lead.length - from;
  return { number, text: shown, mark: { start: mark.start + shift, end: Math.min(mark.end, to) + shift } };
}

/** Leaves out lines far from the match until the rest is within the bound. */
function withinBound(before: ContextLine[], match: ContextLine[], after: ContextLine[]): ContextLine[] {
  const size = (lines: ContextLine[]): number => lines.reduce((sum, { text }) => sum + text.length, 0);
  while (before.length + after.length > 0 && size(before) + size(match) + size(after) > CHARACTERS_MAX) {
    if (before.length > after.length) before.shift();
    else after.pop();
  }
  return [...before, ...match, ...after];
}

function newlinesIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}
