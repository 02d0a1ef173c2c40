import { isArray, nameOf, PdfLexer, type PdfValue, stringOf, wordOf } from './values.ts';

/** Turns the codes of a font into text. */
export type FontText = (codes: string) => string;

/** Space between letters, in thousandths of their size, that separates words. */
const WORD_SPACE = -180;
/** The width of a narrow letter, as a share of its size. */
const NARROWEST = 0.1;
const OPERANDS_MAX = 64;
const MAPPINGS_MAX = 65_536;

/** Returns the text that a content stream shows, in its order; a change of the line is a newline. */
export function pageText(content: string, fontOf: (name: string) => FontText): string {
  const lexer = new PdfLexer(content);
  const shown = new ShownText(fontOf);
  let operands: PdfValue[] = [];
  for (let value = lexer.next(); value !== null; value = lexer.next()) {
    const operator = wordOf(value);
    if (operator === null) {
      if (operands.length < OPERANDS_MAX) operands.push(value);
      continue;
    }
    if (operator === 'ID') lexer.at = endOfImage(content, lexer.at);
    else shown.apply(operator, operands);
    operands = [];
  }
  return shown.text;
}

/** The text that operators have shown so far, with the place of the last piece. */
class ShownText {
  text = '';
  readonly #fontOf: (name: string) => FontText;
  #decode: FontText = (codes) => codes;
  #size = 1;
  /** The beginning of the current line, and the scale of its coordinates. */
  #line = { x: 0, y: 0, scale: 1 };
  #isPlaced = false;
  /** Where the last piece began, and its characters; null if the coordinates changed since. */
  #last: { x: number; y: number; characters: number } | null = null;

  constructor(fontOf: (name: string) => FontText) {
    this.#fontOf = fontOf;
  }

  apply(operator: string, operands: readonly PdfValue[]): void {
    switch (operator) {
      case 'Tf':
        this.#decode = this.#fontOf(nameOf(operands[0]) ?? '');
        this.#size = Math.abs(numberIn(operands, 1)) || 1;
        break;
      case 'Tj':
        this.#show(operands.at(-1));
        break;
      case 'TJ':
        this.#showAll(operands.at(-1));
        break;
      case "'":
      case '"':
        this.#breakLine();
        this.#show(operands.at(-1));
        break;
      case 'T*':
        this.#breakLine();
        break;
      case 'BT':
        this.#line = { x: 0, y: 0, scale: 1 };
        this.#isPlaced = false;
        break;
      case 'cm':
        this.#last = null;
        break;
      case 'Td':
      case 'TD': {
        const { x, y, scale } = this.#line;
        this.#moveTo({ x: x + numberIn(operands, 0) * scale, y: y + numberIn(operands, 1) * scale, scale });
        break;
      }
      case 'Tm':
        this.#moveTo({
          x: numberIn(operands, 4),
          y: numberIn(operands, 5),
          scale: Math.abs(numberIn(operands, 0)) || 1,
        });
    }
  }

  /** A piece that continues the last one, as where letters are moved closer, follows it directly. */
  #moveTo(line: { x: number; y: number; scale: number }): void {
    this.#line = line;
    this.#isPlaced = true;
    const last = this.#last;
    this.#last = { x: line.x, y: line.y, characters: 0 };
    if (last === null || Math.abs(line.y - last.y) > 0.01) {
      this.#breakLine();
      return;
    }
    const width = last.characters * this.#size * line.scale;
    if (line.x < last.x + width * NARROWEST) this.#breakLine();
    else if (line.x > last.x + width) this.text += ' ';
  }

  #breakLine(): void {
    if (this.text !== '' && !this.text.endsWith('\n')) this.text += '\n';
  }

  #show(value: PdfValue | undefined): void {
    const text = this.#decode(stringOf(value) ?? '');
    if (!this.#isPlaced) this.#breakLine();
    this.#isPlaced = true;
    this.text += text;
    if (this.#last !== null) this.#last.characters += text.length;
  }

  #showAll(parts: PdfValue | undefined): void {
    for (const part of isArray(parts) ? parts : []) {
      if (typeof part !== 'number') this.#show(part);
      else if (part < WORD_SPACE) this.text += ' ';
    }
  }
}

function numberIn(operands: readonly PdfValue[], index: number): number {
  const value = operands[index];
  return typeof value === 'number' ? value : 0;
}

/** A picture within a content stream ends with `EI`. */
function endOfImage(content: string, at: number): number {
  for (let end = content.indexOf('EI', at); end >= 0; end = content.indexOf('EI', end + 2)) {
    if (/^\s?EI(?:\s|$)/.test(content.slice(end - 1, end + 3))) return end + 2;
  }
  return content.length;
}

/** Reads a `ToUnicode` map. Returns null if it maps nothing. */
export function fontTextOf(map: string): FontText | null {
  const single = new Map<string, string>();
  const ranges: { from: string; to: string; text: string }[] = [];
  const lexer = new PdfLexer(map);
  let operands: PdfValue[] = [];
  for (let value = lexer.next(); value !== null && single.size + ranges.length < MAPPINGS_MAX; value = lexer.next()) {
    const word = wordOf(value);
    if (word === null) {
      operands.push(value);
      continue;
    }
    if (word === 'endbfchar')
      for (let at = 0; at + 1 < operands.length; at += 2)
        single.set(stringOf(operands[at]) ?? '', unicode(stringOf(operands[at + 1]) ?? ''));
    if (word === 'endbfrange')
      for (let at = 0; at + 2 < operands.length; at += 3) addRange(operands.slice(at, at + 3), single, ranges);
    operands = [];
  }
  if (single.size + ranges.length === 0) return null;
  const length = (ranges[0]?.from ?? [...single.keys()][0] ?? '').length || 1;
  return (codes) => {
    let text = '';
    for (let at = 0; at + length <= codes.length; at += length) {
      const code = codes.slice(at, at + length);
      text += single.get(code) ?? rangeText(code, ranges);
    }
    return text;
  };
}

function addRange(
  [first, last, target]: readonly PdfValue[],
  single: Map<string, string>,
  ranges: { from: string; to: string; text: string }[],
): void {
  const [from, to] = [stringOf(first) ?? '', stringOf(last) ?? ''];
  if (from.length === 0 || from.length !== to.length) return;
  if (!isArray(target)) {
    ranges.push({ from, to, text: unicode(stringOf(target) ?? '') });
    return;
  }
  for (const [index, text] of target.slice(0, 256).entries())
    single.set(
      from.slice(0, -1) + String.fromCharCode((from.charCodeAt(from.length - 1) + index) & 0xff),
      unicode(stringOf(text) ?? ''),
    );
}

/** Codes compare like their bytes; the last character of the text advances with them. */
function rangeText(code: string, ranges: readonly { from: string; to: string; text: string }[]): string {
  const range = ranges.find(({ from, to }) => code >= from && code <= to);
  if (range === undefined || range.text === '') return '';
  const { from, text } = range;
  return text.slice(0, -1) + String.fromCharCode(text.charCodeAt(text.length - 1) + numberOf(code) - numberOf(from));
}

function numberOf(code: string): number {
  return Buffer.from(code.slice(-4), 'latin1').reduce((sum, byte) => sum * 256 + byte, 0);
}

function unicode(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1');
  return latin1.length === 1
    ? latin1
    : bytes
        .subarray(0, bytes.length & ~1)
        .swap16()
        .toString('utf16le');
}
