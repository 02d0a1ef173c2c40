import type { Problem } from '../../result.ts';
import type { ObjectReader } from '../../source/port.ts';

const CHUNK_BYTES = 64 * 1024;
const ENTITY_BYTES_MAX = 12;
const NAME_BYTES_MAX = 32;
const LESS = 0x3c;
const GREATER = 0x3e;
const AMPERSAND = 0x26;
const SEMICOLON = 0x3b;
const NEWLINE = 0x0a;
const TAB = 0x09;

/** Elements that end a line, and those that end a cell, without their prefix. */
const LINES: ReadonlySet<string> = new Set([
  'p',
  'br',
  'cr',
  'si',
  'row',
  'h',
  'line-break',
  'table-row',
  'tr',
  'comment',
]);
const CELLS: ReadonlySet<string> = new Set(['tab', 'c', 'tc', 'table-cell']);

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads the text of an XML document: elements that end paragraphs become newlines, other markup vanishes, so that text
 * in several runs is whole. Addresses in attributes follow on lines of their own. A document in UTF-16 is passed on
 * unchanged.
 */
export class MarkupReader implements ObjectReader {
  readonly access = 'carry';
  readonly size = -1;
  readonly #inner: ObjectReader;
  readonly #chunk = new Uint8Array(CHUNK_BYTES);
  #offset = 0;
  #ended = false;
  /** Text to deliver. An element of three bytes adds one at most; an attribute less than it has. */
  #text: Uint8Array = new Uint8Array(0);
  /** What was begun in the chunk before: an element or an entity. */
  #begun: Buffer = Buffer.alloc(0);
  #isRaw: boolean | null = null;

  constructor(inner: ObjectReader) {
    this.#inner = inner;
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    while (this.#text.length === 0) {
      if (this.#ended) return 0;
      await this.#advance();
    }
    const count = Math.min(length, this.#text.length);
    target.set(this.#text.subarray(0, count), start);
    this.#text = this.#text.subarray(count);
    return count;
  }

  async #advance(): Promise<void> {
    const count = await this.#inner.read(this.#chunk, 0, CHUNK_BYTES, this.#offset);
    this.#offset += count;
    this.#ended = count === 0;
    const bytes = Buffer.concat([this.#begun, this.#chunk.subarray(0, count)]);
    this.#begun = Buffer.alloc(0);
    this.#isRaw ??= bytes[0] === 0xfe || bytes[0] === 0xff;
    this.#text = this.#isRaw ? bytes : this.#textOf(bytes);
  }

  #textOf(bytes: Buffer): Buffer {
    const pieces: Buffer[] = [];
    let at = 0;
    while (at < bytes.length) {
      const next = nextMark(bytes, at);
      if (next > at) pieces.push(bytes.subarray(at, next));
      if (next === bytes.length) break;
      const end = bytes[next] === LESS ? endOfElement(bytes, next) : endOfEntity(bytes, next);
      // A longer element than a chunk has no text that matters.
      if (end < 0 && !this.#ended && bytes.length - next < CHUNK_BYTES) {
        this.#begun = Buffer.from(bytes.subarray(next));
        break;
      }
      const stop = end < 0 ? bytes.length : end;
      const mark = bytes.subarray(next, stop);
      if (bytes[next] === LESS) pieces.push(...elementText(mark));
      else pieces.push(entityText(mark));
      at = stop;
    }
    return Buffer.concat(pieces);
  }

  close(): Problem | undefined | Promise<Problem | undefined> {
    return this.#inner.close();
  }
}

function nextMark(bytes: Buffer, at: number): number {
  const element = bytes.indexOf(LESS, at);
  const limit = element < 0 ? bytes.length : element;
  const entity = bytes.subarray(at, limit).indexOf(AMPERSAND);
  return entity < 0 ? limit : at + entity;
}

/** Returns the offset after an element; -1 if it does not end here. Comments and such end like elements. */
function endOfElement(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(GREATER, at);
  return end < 0 ? -1 : end + 1;
}

/** Returns the offset after an entity; one byte further for an `&` that begins none. */
function endOfEntity(bytes: Buffer, at: number): number {
  const limit = Math.min(bytes.length, at + ENTITY_BYTES_MAX);
  const end = bytes.subarray(at, limit).indexOf(SEMICOLON);
  if (end >= 0) return at + end + 1;
  return limit === at + ENTITY_BYTES_MAX ? at + 1 : -1;
}

function elementText(element: Buffer): Buffer[] {
  const name = /^<\/?(?:[\w-]+:)?([\w-]+)/.exec(element.subarray(0, NAME_BYTES_MAX + 3).toString('latin1'))?.[1] ?? '';
  const isEnd = element[1] === 0x2f || element[element.length - 2] === 0x2f;
  const pieces: Buffer[] = [];
  if (element.includes('://')) {
    for (const [, double, single] of element
      .toString('latin1')
      .matchAll(/="([^"]*:\/\/[^"]*)"|='([^']*:\/\/[^']*)'/g)) {
      // Schemas are named by addresses on every element that uses them.
      const address = double ?? single ?? '';
      if (!/^https?:\/\/(?:schemas|purl|www\.w3|docs\.oasis)/.test(address))
        pieces.push(Buffer.from(`\n${address.replaceAll('&amp;', '&')}\n`, 'latin1'));
    }
  }
  if (isEnd && LINES.has(name)) pieces.push(Buffer.of(NEWLINE));
  else if (isEnd && CELLS.has(name)) pieces.push(Buffer.of(TAB));
  return pieces;
}

function entityText(entity: Buffer): Buffer {
  const name = entity.subarray(1, -1).toString('latin1');
  const known = ENTITIES[name];
  if (known !== undefined) return Buffer.from(known);
  const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|(\d{1,7}))$/i.exec(name) ?? [];
  const code = hex === undefined ? Number(decimal) : parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? Buffer.from(String.fromCodePoint(code)) : entity;
}
