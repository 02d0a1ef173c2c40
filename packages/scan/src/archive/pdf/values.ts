/** Values of PDF documents, as far as their text matters. Strings are bytes as latin1. */
export type PdfValue = number | PdfName | PdfString | PdfReference | PdfKeyword | PdfDictionary | readonly PdfValue[];
export interface PdfName {
  readonly name: string;
}
export interface PdfString {
  readonly text: string;
}
export interface PdfReference {
  readonly ref: number;
}
/** `true`, `null`, `stream`, or an operator. */
export interface PdfKeyword {
  readonly word: string;
}
export type PdfDictionary = ReadonlyMap<string, PdfValue>;

const DEPTH_MAX = 64;
const END: PdfKeyword = { word: '' };
/** By character: 1 for space, 2 for what else ends a word. */
const CLASSES = new Uint8Array(256);
for (const char of '\0\t\n\f\r ') CLASSES[char.charCodeAt(0)] = 1;
for (const char of '()<>[]{}/%') CLASSES[char.charCodeAt(0)] = 2;
const [ZERO, NINE] = [0x30, 0x39];

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** Reads values from text, whatever it contains: each call advances, and what is damaged becomes a keyword. */
export class PdfLexer {
  readonly text: string;
  at: number;

  constructor(text: string, at = 0) {
    this.text = text;
    this.at = at;
  }

  /** Returns the next value; null at the end. */
  next(): PdfValue | null {
    const value = this.#value(0);
    return value === END ? null : value;
  }

  #value(depth: number): PdfValue {
    const { text } = this;
    this.#skipSpace();
    const char = text[this.at];
    if (char === undefined) return END;
    if (depth > DEPTH_MAX) {
      this.at += 1;
      return { word: char };
    }
    if (char === '(') return { text: this.#literal() };
    if (char === '/') return { name: this.#name() };
    if (char === '[') return this.#array(depth);
    if (char === '<') return text[this.at + 1] === '<' ? this.#dictionary(depth) : { text: this.#hexadecimal() };
    if (text.startsWith('>>', this.at)) {
      this.at += 2;
      return { word: '>>' };
    }
    if (CLASSES[char.charCodeAt(0)] !== 0) {
      this.at += 1;
      return { word: char };
    }
    return this.#plain();
  }

  #skipSpace(): void {
    const { text } = this;
    while (this.at < text.length) {
      const char = text[this.at]!;
      if (char === '%') {
        const end = text.slice(this.at, this.at + 4096).search(/[\r\n]/);
        this.at += end < 0 ? Math.min(4096, text.length - this.at) : end;
      } else if (CLASSES[char.charCodeAt(0)] === 1) this.at += 1;
      else return;
    }
  }

  /** Reads a number, a reference or a keyword. */
  #plain(): PdfValue {
    const { text } = this;
    const from = this.at;
    this.#passWord();
    const word = text.slice(from, this.at);
    const first = word.charCodeAt(0);
    if ((first < ZERO || first > NINE) && !/^[+-]?[\d.]+$/.test(word)) return { word };
    // Most numbers are no references, which have a digit next.
    const next = text.charCodeAt(this.at + 1);
    if (next < ZERO || next > NINE) return Number(word) || 0;
    const reference = /^\s{1,8}\d{1,5}\s{1,8}R\b/.exec(text.slice(this.at, this.at + 24));
    if (reference === null || !/^\d{1,9}$/.test(word)) return Number(word) || 0;
    this.at += reference[0].length;
    return { ref: Number(word) };
  }

  #passWord(): void {
    const { text } = this;
    while (this.at < text.length && CLASSES[text.charCodeAt(this.at)] === 0) this.at += 1;
  }

  #name(): string {
    const from = ++this.at;
    this.#passWord();
    const hex = (_: string, digits: string): string => String.fromCharCode(parseInt(digits, 16));
    return this.text.slice(from, this.at).replace(/#([0-9a-f]{2})/gi, hex);
  }

  #array(depth: number): PdfValue[] {
    this.at += 1;
    const values: PdfValue[] = [];
    for (let value = this.#value(depth + 1); value !== END; value = this.#value(depth + 1)) {
      if (wordOf(value) === ']') break;
      values.push(value);
    }
    return values;
  }

  #dictionary(depth: number): PdfDictionary {
    this.at += 2;
    const members = new Map<string, PdfValue>();
    for (let key = this.#value(depth + 1); key !== END && wordOf(key) !== '>>'; key = this.#value(depth + 1)) {
      const name = nameOf(key);
      if (name === null) continue;
      const value = this.#value(depth + 1);
      if (wordOf(value) === '>>' || value === END) break;
      members.set(name, value);
    }
    return members;
  }

  #hexadecimal(): string {
    const end = this.text.indexOf('>', this.at);
    const stop = end < 0 ? this.text.length : end;
    const digits = this.text.slice(this.at + 1, stop).replace(/[^0-9a-f]/gi, '');
    this.at = Math.min(this.text.length, stop + 1);
    return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex').toString('latin1');
  }

  #literal(): string {
    const { text } = this;
    let depth = 1;
    let value = '';
    let from = ++this.at;
    for (; this.at < text.length; this.at += 1) {
      const char = text[this.at]!;
      if (char === '(') depth += 1;
      else if (char === ')' && (depth -= 1) === 0) break;
      else if (char === '\\') {
        value += text.slice(from, this.at);
        const [escape, content] = escapeAt(text, this.at + 1);
        value += content;
        this.at += escape;
        from = this.at + 1;
      }
    }
    value += text.slice(from, this.at);
    this.at = Math.min(text.length, this.at + 1);
    return value;
  }
}

/** Returns the characters of an escape after its backslash, and what it stands for. */
function escapeAt(text: string, at: number): [length: number, content: string] {
  const digits = /^[0-7]{1,3}/.exec(text.slice(at, at + 3))?.[0];
  if (digits !== undefined) return [digits.length, String.fromCharCode(parseInt(digits, 8) & 0xff)];
  if (text.startsWith('\r\n', at)) return [2, ''];
  const char = text[at] ?? '';
  if (char === '\n' || char === '\r') return [1, ''];
  return [char.length, ESCAPES[char] ?? char];
}

export function nameOf(value: PdfValue | undefined): string | null {
  return typeof value === 'object' && 'name' in value ? value.name : null;
}

export function wordOf(value: PdfValue | undefined): string | null {
  return typeof value === 'object' && 'word' in value ? value.word : null;
}

export function stringOf(value: PdfValue | undefined): string | null {
  return typeof value === 'object' && 'text' in value ? value.text : null;
}

export function referenceOf(value: PdfValue | undefined): number | null {
  return typeof value === 'object' && 'ref' in value ? value.ref : null;
}

export function isDictionary(value: PdfValue | undefined): value is PdfDictionary {
  return value instanceof Map;
}

export function isArray(value: PdfValue | undefined): value is readonly PdfValue[] {
  return Array.isArray(value);
}

/** Decodes a string for people: UTF-16 or UTF-8 if it begins with their mark. */
export function humanText(latin1: string): string {
  const bytes = Buffer.from(latin1, 'latin1');
  if (latin1.startsWith('\xfe\xff'))
    return bytes
      .subarray(2, bytes.length & ~1)
      .swap16()
      .toString('utf16le');
  return latin1.startsWith('\xef\xbb\xbf') ? bytes.subarray(3).toString('utf8') : latin1;
}
