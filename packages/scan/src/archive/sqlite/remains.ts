import { sizeOf } from './numbers.ts';
import type { TextEncoding } from './pages.ts';

/** Columns of a record that is looked for. */
const COLUMNS_MAX = 200;
/** Text of fewer bytes may be anything. */
const TEXT_BYTES_MIN = 4;
/** The next block, and the length of this one. */
const BLOCK_HEADER_BYTES = 4;
const LINE_END = Buffer.from('\n');
/** Types of values read for each byte, at most: a page can be made that needs far more. What is left of it stays as it is. */
const STEPS_PER_BYTE = 64;

/** Bytes of values whose type is lost, at most: a type of one byte. */
const LOST_BYTES_MAX = 57;

/** Bytes of a row whose length is a number of one byte, with that number. */
const LENGTHS_MAX = 128;

/** Rows of a table, by its definition. */
export interface RowShape {
  columns: number;
  /**
   * Of a table without row ids, the sizes of first values, the most frequent first: a deleted row has lost the types of
   * its first two values. Null for any other table, whose rows lose the first type only.
   */
  firstSizes: readonly number[] | null;
}

/** What is known of the database that the bytes are of. */
export interface Surroundings {
  encoding: TextEncoding;
  /** Of the tables that rows may be of, for rows that have lost a type. */
  shapes: readonly RowShape[];
}

/** Bytes in which rows are looked for, and how many types may still be read for it. */
interface Search {
  readonly bytes: Buffer;
  readonly encoding: TextEncoding | null;
  readonly shapes: readonly RowShape[];
  stepsLeft: number;
}

/** Where the values of a record end, in the bytes that contain it. */
interface Remains {
  ends: readonly number[];
  end: number;
}

/**
 * Returns bytes of a database that belong to no row, with a line end after each value of the rows that they once were:
 * values are stored without a gap, so that a secret would otherwise continue the word before it.
 */
export function separated(bytes: Buffer, database?: Surroundings): Buffer {
  const ends: number[] = [];
  const { encoding = null, shapes = [] } = database ?? {};
  const search: Search = { bytes, encoding, shapes, stepsLeft: bytes.length * STEPS_PER_BYTE };
  for (let at = 0; at < bytes.length && search.stepsLeft > 0;) {
    const row = recordAt(search, at) ?? blockAt(search, at);
    if (row !== null) ends.push(...row.ends);
    at = row?.end ?? at + 1;
  }
  if (ends.length === 0) return bytes;
  const pieces: Buffer[] = [];
  let from = 0;
  for (const end of ends) {
    pieces.push(bytes.subarray(from, end), LINE_END);
    from = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(from)]);
}

/** Recognizes a row of a table or an index that is intact: its length must be that of its values. */
function recordAt(search: Search, at: number): Remains | null {
  const { bytes } = search;
  const length = small(bytes, at);
  if (length === null || length.value < TEXT_BYTES_MIN + 2) return null;
  const inTable = recordIn(search, endOfNumber(bytes, length.end), length.value);
  return inTable ?? recordIn(search, length.end, length.value);
}

/** Recognizes a record of a length: a header with its own length and the types of its values, and the values. */
function recordIn(search: Search, at: number, length: number): Remains | null {
  const { bytes } = search;
  if (at + length > bytes.length) return null;
  const header = small(bytes, at);
  if (header === null || header.value < 2 || header.value >= length) return null;
  const headerEnd = at + header.value;
  return valuesIn(search, header.end, (typesEnd, end) => typesEnd === headerEnd && end === at + length);
}

/**
 * Recognizes a deleted row whose first four bytes the header of a free block has overwritten, and with them perhaps the
 * type of an empty first value.
 */
function blockAt(search: Search, at: number): Remains | null {
  const { bytes } = search;
  const length = lengthAt(bytes, at);
  const end = at + length;
  if (length <= BLOCK_HEADER_BYTES + TEXT_BYTES_MIN || end > bytes.length) return null;
  const isEnd = (to: number): boolean => isRowEnd(search, to, end);
  const from = at + BLOCK_HEADER_BYTES;
  const header = small(bytes, from);
  const whole =
    header === null
      ? null
      : valuesIn(search, header.end, (typesEnd, to) => typesEnd === from + header.value && isEnd(to));
  return whole ?? valuesIn(search, from, (_typesEnd, to) => isEnd(to)) ?? shapedIn(search, from, end);
}

/** Returns whether a row may end there. Neighbors that were deleted, too, belong to the block of a row. */
function isRowEnd(search: Search, to: number, end: number): boolean {
  return to === end || (to < end && (recordAt(search, to) !== null || lengthAt(search.bytes, to) === end - to));
}

/**
 * Recognizes a deleted row that has lost the type of a value by the columns of its table. Less of it can be verified, so
 * that the block must end where the bytes do.
 */
function shapedIn(search: Search, from: number, end: number): Remains | null {
  if (end !== search.bytes.length) return null;
  for (const { columns, firstSizes } of search.shapes) {
    const row =
      firstSizes === null
        ? shapedRow(search, from, end, { left: columns - 1, from: 0, to: LENGTHS_MAX + 1 })
        : (shapedRow(search, from, end, { left: columns - 2, firstSizes, from: 0, to: LENGTHS_MAX }) ??
          shapedRow(search, from, end, { left: columns - 1, from: LENGTHS_MAX + 1, to: end }));
    if (row !== null) return row;
  }
  return null;
}

interface LostTypes {
  /** How many types are left. */
  left: number;
  /** Given if the types of two values are lost. */
  firstSizes?: readonly number[];
  /** Bytes of such a row with its length: more of its types are lost, the shorter the numbers before them are. */
  from: number;
  to: number;
}

function shapedRow(search: Search, from: number, end: number, shape: LostTypes): Remains | null {
  const { left, firstSizes } = shape;
  const read = left < 0 || left > COLUMNS_MAX ? null : sizesIn(search, from, left);
  if (read === null) return null;
  const { typesEnd, sizes, texts } = read;
  const hasText = sizes.some((size, index) => texts[index] === true && size >= TEXT_BYTES_MIN);
  if (!hasText && firstSizes === undefined) return null;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const lostMax = firstSizes === undefined ? LOST_BYTES_MAX : 2 * LOST_BYTES_MAX;
  for (let lost = 1; lost <= lostMax && typesEnd + lost + total <= end && search.stepsLeft > 0; lost++) {
    search.stepsLeft -= 1;
    const to = typesEnd + lost + total;
    const length = to - from + BLOCK_HEADER_BYTES;
    if (length < shape.from || length > shape.to || !isRowEnd(search, to, end)) continue;
    const first = firstSizes?.find((size) => isPair(search.bytes.subarray(typesEnd, typesEnd + lost), size)) ?? 0;
    const ends = endsOf(typesEnd, [first, lost - first, ...sizes]);
    if (areTexts(search, typesEnd + lost, sizes, texts)) return { ends, end: to };
  }
  return null;
}

/** Returns whether bytes are two values, of which the first has that size: texts or numbers, but none of them both. */
function isPair(bytes: Buffer, size: number): boolean {
  if (size >= bytes.length) return false;
  return [bytes.subarray(0, size), bytes.subarray(size)].every(
    (value) => value.every(isPrintable) || (value.length <= 8 && value.filter(isPrintable).length < 3),
  );
}

/** Reads a number of types; null if they are none. */
function sizesIn(
  search: Search,
  from: number,
  count: number,
): { typesEnd: number; sizes: number[]; texts: boolean[] } | null {
  const sizes: number[] = [];
  const texts: boolean[] = [];
  let typesEnd = from;
  while (sizes.length < count) {
    search.stepsLeft -= 1;
    const type = search.stepsLeft > 0 ? small(search.bytes, typesEnd) : null;
    if (type === null || type.value === 10 || type.value === 11) return null;
    sizes.push(sizeOf(type.value));
    texts.push(isTextType(type.value));
    typesEnd = type.end;
  }
  return { typesEnd, sizes, texts };
}

/**
 * Returns whether the values that are texts by their types have no control characters, unless texts are in UTF-16: a
 * page has numbers that could be the types of nearly anything, up to all rows behind them.
 */
function areTexts(search: Search, from: number, sizes: readonly number[], texts: readonly boolean[]): boolean {
  const { bytes, encoding } = search;
  if (encoding !== null && encoding !== 'utf8') return true;
  let at = from;
  return sizes.every((size, index) => {
    const begin = at;
    at += size;
    if (texts[index] === false) return true;
    search.stepsLeft -= size >> 3;
    const text = bytes.subarray(begin, at);
    return text.every(isPrintable) || (encoding === null && text.every(isHalfPrintable));
  });
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 || (byte >= 9 && byte <= 13);
}

/** Of text in UTF-16 whose characters are mostly those of ASCII. */
function isHalfPrintable(byte: number, index: number, text: Uint8Array): boolean {
  return isPrintable(byte) || (byte === 0 && isPrintable(text[index ^ 1] ?? 0));
}

/**
 * Reads types of values, among them text, up to where the values that follow end.
 *
 * @param isWhole whether the types may end there, and the values
 */
function valuesIn(search: Search, from: number, isWhole: (typesEnd: number, end: number) => boolean): Remains | null {
  const { bytes } = search;
  const sizes: number[] = [];
  const texts: boolean[] = [];
  let total = 0;
  let hasText = false;
  for (let at = from; sizes.length < COLUMNS_MAX && search.stepsLeft > 0;) {
    search.stepsLeft -= 1;
    const type = small(bytes, at);
    if (type === null || type.value === 10 || type.value === 11) return null;
    const size = sizeOf(type.value);
    const isText = isTextType(type.value);
    hasText ||= isText && size >= TEXT_BYTES_MIN;
    sizes.push(size);
    texts.push(isText);
    total += size;
    at = type.end;
    const end = at + total;
    if (end > bytes.length) return null;
    if (hasText && isWhole(at, end) && areTexts(search, at, sizes, texts)) return { ends: endsOf(at, sizes), end };
  }
  return null;
}

function endsOf(start: number, sizes: readonly number[]): number[] {
  let at = start;
  const ends = sizes.map((size) => (at += size));
  // Before the first value stand the types.
  return [start, ...ends].filter((end, index, all) => end !== all[index - 1]);
}

function isTextType(type: number): boolean {
  return type > 12 && type % 2 === 1;
}

/** Returns the length of a free block, as its header says. */
function lengthAt(bytes: Buffer, at: number): number {
  return at + BLOCK_HEADER_BYTES > bytes.length ? 0 : bytes.readUInt16BE(at + 2);
}

/** Returns a number of at most three bytes, as sizes on one page have. */
function small(bytes: Buffer, at: number): { value: number; end: number } | null {
  let value = 0;
  for (let end = at; end < at + 3 && end < bytes.length; end++) {
    value = value * 128 + (bytes[end]! & 0x7f);
    if (bytes[end]! < 0x80) return { value, end: end + 1 };
  }
  return null;
}

/** Returns where a number of any length ends. */
function endOfNumber(bytes: Buffer, at: number): number {
  let end = at;
  while (end < at + 8 && (bytes[end] ?? 0) >= 0x80) end += 1;
  return end + 1;
}
