import type { ByteSource } from '../byte-source.ts';
import { Damage } from '../unpack/unpacker.ts';
import { varint } from './numbers.ts';
import { type RowShape, separated } from './remains.ts';

/** Bytes of a row that are read, over all of its pages. */
const ROW_BYTES_MAX = 4 * 1024 * 1024;
/** Bytes of rows that are held together; one row may have more. */
const HELD_BYTES = 256 * 1024;
/** Levels of a tree; a billion pages need six. */
const LEVELS_MAX = 40;
const HEADER_BYTES = 100;

const SEPARATOR = Buffer.from('\n');

const KIND = { index_node: 2, table_node: 5, index_leaf: 10, table_leaf: 13 } as const;

export type TextEncoding = 'utf8' | 'utf16le' | 'utf16be';

/** A page of a tree with its own copy of the bytes. */
interface TreePage {
  number: number;
  bytes: Buffer;
  /** Where its header begins. */
  at: number;
  kind: number;
  cells: number;
}

/** The record of a row. */
export interface Cell {
  /** Null in a tree of an index. */
  rowid: number | bigint | null;
  payload: Buffer;
  /** True if the payload has more bytes than are read, or lacks some. */
  is_cut: boolean;
  /** Bytes on the page of the row. */
  local_bytes: number;
}

/** Reads the pages and trees of an SQLite file, whatever its contents claim: no page is visited twice. */
export class SqlitePages {
  readonly encoding: TextEncoding;
  readonly pageBytes: number;
  /** Pages in the file, whatever its header says. */
  readonly count: number;
  /** A bit for each page that a tree or a row has. */
  readonly #used: Uint8Array;
  readonly #source: ByteSource;
  readonly #usable: number;
  readonly #consumed: (bytes: number) => void;

  private constructor(source: ByteSource, header: Buffer, consumed: (bytes: number) => void) {
    const stated = header.readUInt16BE(16);
    this.pageBytes = stated === 1 ? 65_536 : stated;
    this.#usable = this.pageBytes - header[20]!;
    if (this.pageBytes < 512 || (this.pageBytes & (this.pageBytes - 1)) !== 0 || this.#usable < 480)
      throw new Damage('the header of the database is damaged');
    this.encoding = (['utf8', 'utf16le', 'utf16be'] as const)[header.readUInt32BE(56) - 1] ?? 'utf8';
    this.count = Math.ceil(source.reader.size / this.pageBytes);
    this.#used = new Uint8Array((this.count >> 3) + 1);
    this.#source = source;
    this.#consumed = consumed;
  }

  /** @param consumed called with the bytes of each page that is read */
  static async open(source: ByteSource, consumed: (bytes: number) => void): Promise<SqlitePages> {
    source.seek(0);
    const header = await source.peek(HEADER_BYTES);
    if (header.length < HEADER_BYTES) throw new Damage('the header of the database is damaged');
    return new SqlitePages(source, Buffer.from(header.slice(0, HEADER_BYTES)), consumed);
  }

  isUsed(page: number): boolean {
    return (this.#used[page >> 3]! & (1 << (page & 7))) !== 0;
  }

  /** Returns a page, or what there is of the last one. */
  async page(number: number): Promise<Buffer> {
    this.#source.seek((number - 1) * this.pageBytes);
    const bytes = Buffer.from((await this.#source.peek(this.pageBytes)).slice(0, this.pageBytes));
    this.#consumed(bytes.length);
    return bytes;
  }

  /** Returns the parts of a page that hold no row: all of it, or the space of deleted rows on a page that a tree has. */
  async unusedParts(number: number, shapes: readonly RowShape[]): Promise<Buffer[]> {
    const database = { encoding: this.encoding, shapes };
    const bytes = await this.page(number);
    const at = number === 1 ? HEADER_BYTES : 0;
    const isTree = bytes.length >= at + 12 && Object.values<number>(KIND).includes(bytes[at]!);
    if (!this.isUsed(number)) {
      // The numbers before the rows of a former tree could be those of rows, too.
      const from = isTree ? Math.min(bytes.length, bytes.readUInt16BE(at + 5)) : 0;
      return [separated(bytes.subarray(0, from), database), separated(bytes.subarray(from), database)];
    }
    if (!isTree) return [];
    const isNode = bytes[at] === KIND.table_node || bytes[at] === KIND.index_node;
    const pointersEnd = at + (isNode ? 12 : 8) + 2 * bytes.readUInt16BE(at + 3);
    const rowsBegin = Math.max(pointersEnd, bytes.readUInt16BE(at + 5) || 65_536);
    const parts = [separated(bytes.subarray(pointersEnd, rowsBegin), database)];
    // Blocks between rows follow one another upwards.
    for (let block = bytes.readUInt16BE(at + 1), before = 0; block > before && block + 4 <= bytes.length;) {
      parts.push(separated(bytes.subarray(block, block + bytes.readUInt16BE(block + 2)), database), SEPARATOR);
      before = block;
      block = bytes.readUInt16BE(block);
    }
    return parts;
  }

  /** Yields the rows of a tree in their order, those of a page together; `damaged` is called for what cannot be read. */
  async *rows(root: number, damaged: (message: string) => void): AsyncGenerator<readonly Cell[]> {
    yield* this.#rowsBelow(root, 0, damaged);
  }

  async *#rowsBelow(
    number: number,
    level: number,
    damaged: (message: string) => void,
  ): AsyncGenerator<readonly Cell[]> {
    const page = level > LEVELS_MAX ? null : await this.#treePage(number);
    if (page === null) {
      damaged(`page ${number} is damaged, or belongs to several trees`);
      return;
    }
    const isNode = page.kind === KIND.table_node || page.kind === KIND.index_node;
    const pointersAt = page.at + (isNode ? 12 : 8);
    // Rows that share their bytes would let a page claim more than it has.
    let left = page.bytes.length;
    let rows: Cell[] = [];
    let held = 0;
    for (let index = 0; index < page.cells; index++) {
      const at = page.bytes.readUInt16BE(pointersAt + 2 * index);
      if (at + 4 > page.bytes.length) {
        damaged(`a row of page ${number} is damaged`);
        continue;
      }
      if (isNode) {
        yield rows;
        rows = [];
        yield* this.#rowsBelow(page.bytes.readUInt32BE(at), level + 1, damaged);
      }
      if (page.kind === KIND.table_node) continue;
      const read = this.#cell(page, at + (isNode ? 4 : 0));
      const cell = read instanceof Promise ? await read : read;
      if (cell === null) {
        damaged(`a row of page ${number} is damaged`);
        continue;
      }
      left -= cell.local_bytes;
      if (left < 0) {
        damaged(`rows of page ${number} overlap; the others of it were not read`);
        break;
      }
      rows.push(cell);
      held += cell.payload.length;
      if (held < HELD_BYTES) continue;
      yield rows;
      rows = [];
      held = 0;
    }
    yield rows;
    if (isNode) yield* this.#rowsBelow(page.bytes.readUInt32BE(page.at + 8), level + 1, damaged);
  }

  async #treePage(number: number): Promise<TreePage | null> {
    if (number < 1 || number > this.count || this.isUsed(number)) return null;
    this.#use(number);
    const bytes = await this.page(number);
    const at = number === 1 ? HEADER_BYTES : 0;
    if (bytes.length < at + 12) return null;
    const kind = bytes[at]!;
    const cells = bytes.readUInt16BE(at + 3);
    const isKnown = Object.values<number>(KIND).includes(kind);
    return isKnown && at + 12 + 2 * cells <= bytes.length ? { number, bytes, at, kind, cells } : null;
  }

  /** Reads a row, with the pages that it continues on. */
  #cell({ bytes, kind }: TreePage, from: number): Cell | null | Promise<Cell> {
    const size = varint(bytes, from);
    if (size === null) return null;
    const isTable = kind === KIND.table_leaf;
    const rowid = isTable ? varint(bytes, size.end) : null;
    if (isTable && rowid === null) return null;
    const start = rowid?.end ?? size.end;
    const length = Number(size.value);
    if (!Number.isSafeInteger(length) || length < 0) return null;
    const local = this.#localBytes(length, isTable);
    if (start + local > bytes.length) return null;
    const cell = { rowid: rowid?.value ?? null, payload: bytes.subarray(start, start + local), is_cut: false };
    const whole = { ...cell, local_bytes: start + local - from };
    if (local === length) return whole;
    const next = start + local + 4 <= bytes.length ? bytes.readUInt32BE(start + local) : 0;
    return this.#continued(whole, length, next);
  }

  /** Adds what a row has on other pages. */
  async #continued(cell: Cell, length: number, first: number): Promise<Cell> {
    const pieces = [cell.payload];
    const wanted = Math.min(length, ROW_BYTES_MAX);
    let have = cell.payload.length;
    let next = first;
    while (have < wanted && next >= 1 && next <= this.count && !this.isUsed(next)) {
      this.#use(next);
      const page = await this.page(next);
      if (page.length < 4) break;
      pieces.push(page.subarray(4, Math.min(this.#usable, 4 + length - have)));
      have += pieces.at(-1)!.length;
      next = page.readUInt32BE(0);
    }
    return { ...cell, payload: Buffer.concat(pieces), is_cut: have < length };
  }

  /** Returns how many bytes of a payload are on the page of its row. */
  #localBytes(length: number, isTable: boolean): number {
    const usable = this.#usable;
    const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
    if (length <= most) return length;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const fitting = least + ((length - least) % (usable - 4));
    return fitting <= most ? fitting : least;
  }

  #use(page: number): void {
    this.#used[page >> 3]! |= 1 << (page & 7);
  }
}
