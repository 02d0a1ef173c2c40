import type { TextEncoding } from './pages.ts';
import { sizeOf, varint } from './numbers.ts';

export type SqliteValue = string | number | bigint | null;

/** Returns the values of a record as far as it has them; blobs as text, with U+FFFD for what is none. */
export function valuesOf(payload: Buffer, encoding: TextEncoding): SqliteValue[] {
  const header = varint(payload, 0);
  if (header === null) return [];
  const headerEnd = Math.min(Number(header.value), payload.length);
  const values: SqliteValue[] = [];
  let body = Number(header.value);
  for (let at = header.end; at < headerEnd;) {
    const type = varint(payload, at);
    if (type === null) break;
    at = type.end;
    const kind = Number(type.value);
    const length = sizeOf(kind);
    if (!(length >= 0) || body > payload.length) break;
    values.push(valueOf(payload.subarray(body, body + length), kind, encoding));
    body += length;
  }
  return values;
}

function valueOf(bytes: Buffer, kind: number, encoding: TextEncoding): SqliteValue {
  if (kind === 0 || kind === 10 || kind === 11) return null;
  if (kind === 8 || kind === 9) return kind - 8;
  if (kind === 7) return bytes.length === 8 ? bytes.readDoubleBE() : null;
  if (kind < 7) return integerOf(bytes);
  return kind % 2 === 1 ? textOf(bytes, encoding) : bytes.toString('utf8');
}

function integerOf(bytes: Buffer): SqliteValue {
  if (bytes.length === 0) return null;
  return bytes.length <= 6 ? bytes.readIntBE(0, bytes.length) : bytes.length === 8 ? bytes.readBigInt64BE() : null;
}

function textOf(bytes: Buffer, encoding: TextEncoding): string {
  if (encoding === 'utf8') return bytes.toString('utf8');
  const whole = Buffer.from(bytes.subarray(0, bytes.length & ~1));
  return (encoding === 'utf16be' ? whole.swap16() : whole).toString('utf16le');
}

/** Returns the names of the columns in a `CREATE TABLE`, as far as they can be read. */
export function columnsOf(sql: string): string[] {
  const begin = sql.indexOf('(');
  if (begin < 0) return [];
  const columns: string[] = [];
  for (const part of partsOf(sql.slice(begin + 1))) {
    const [, quoted, word = ''] = /^\s*(?:["'`[]((?:[^"'`\]])+)["'`\]]|([\w$\x80-\uffff]+))/.exec(part) ?? [];
    const name = quoted ?? word;
    const isConstraint = quoted === undefined && /^(?:constraint|primary|unique|check|foreign)$/i.test(word);
    if (name !== '' && !isConstraint) columns.push(name);
  }
  return columns;
}

/** Returns false for a table `WITHOUT ROWID`. */
export function hasRowIds(sql: string): boolean {
  return !/\)[\w\s,]*\bwithout\s+rowid\b[^)]*$/i.test(sql);
}

/** Splits at the commas that are in no parentheses and quotes. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = '';
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (quote !== '') quote = char === quote ? '' : quote;
    else if ('"\'`['.includes(char)) quote = char === '[' ? ']' : char;
    else if (char === '(') depth += 1;
    else if (char === ')' && (depth -= 1) < 0) return [...parts, text.slice(from, at)];
    else if (char === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}
