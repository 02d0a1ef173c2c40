import { sizeOf } from './numbers.ts';

/** Columns of a record that is looked for. */
const COLUMNS_MAX = 200;
/** Text of fewer bytes may be anything. */
const TEXT_BYTES_MIN = 4;
/** The next block, and the length of this one. */
const BLOCK_HEADER_BYTES = 4;
const LINE_END = Buffer.from('\n');
/** Types of values read for each byte, at most: a page can be made that needs far more. What is left of it stays as it is. */
const STEPS_PER_BYTE = 64;

/** Bytes in which rows are looked for, and how many types may still be read for it. */
interface Search {
  readonly bytes: Buffer;
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
export function separated(bytes: Buffer): Buffer {
  const ends: number[] = [];
  const search: Search = { bytes, stepsLeft: bytes.length * STEPS_PER_BYTE };
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
  // Neighbors that were deleted, too, belong to the block.
  const isEnd = (to: number): boolean =>
    to === end || (to < end && (recordAt(search, to) !== null || lengthAt(bytes, to) === end - to));
  const from = at + BLOCK_HEADER_BYTES;
  const header = small(bytes, from);
  const whole =
    header === null
      ? null
      : valuesIn(search, header.end, (typesEnd, to) => typesEnd === from + header.value && isEnd(to));
  return whole ?? valuesIn(search, from, (_typesEnd, to) => isEnd(to));
}

/**
 * Reads types of values, among them text, up to where the values that follow end.
 *
 * @param isWhole whether the types may end there, and the values
 */
function valuesIn(search: Search, from: number, isWhole: (typesEnd: number, end: number) => boolean): Remains | null {
  const { bytes } = search;
  const sizes: number[] = [];
  let total = 0;
  let hasText = false;
  for (let at = from; sizes.length < COLUMNS_MAX && search.stepsLeft > 0;) {
    search.stepsLeft -= 1;
    const type = small(bytes, at);
    if (type === null || type.value === 10 || type.value === 11) return null;
    const size = sizeOf(type.value);
    hasText ||= type.value > 12 && type.value % 2 === 1 && size >= TEXT_BYTES_MIN;
    sizes.push(size);
    total += size;
    at = type.end;
    const end = at + total;
    if (end > bytes.length) return null;
    if (hasText && isWhole(at, end)) return { ends: endsOf(at, sizes), end };
  }
  return null;
}

function endsOf(start: number, sizes: readonly number[]): number[] {
  let at = start;
  const ends = sizes.map((size) => (at += size));
  // Before the first value stand the types.
  return [start, ...ends].filter((end, index, all) => end !== all[index - 1]);
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
