/** Counts found by one pass over a JSON text without building values. Meaningless if the text is not valid JSON. */
export interface JsonScan {
  /** Members of all objects, duplicates included. */
  members: number;
  /** Values of any type: never fewer than the text holds, and at most one more for each empty object or array. */
  values: number;
  /** Elements of the outermost array, or members of the outermost object. */
  outermost: number;
  /** Distinct member names, a lower bound. */
  names: number;
  /** Deepest nesting of objects and arrays; the outermost is 1. */
  depth: number;
  /** Whether any string holds a `\u` escape: the only way to write NUL or a lone surrogate in valid UTF-8. */
  hasUnicodeEscape: boolean;
  /** Limit that ended the scan; null if the whole text was scanned. */
  exceeded: 'values' | 'outermost' | 'names' | null;
}

/** Limits of a text's content; absent: unlimited. */
export interface ScanLimits {
  values?: number;
  outermost?: number;
  names?: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const LOWER_U = 0x75;
const NEWLINE = 0x0a;
const SPACE = 0x20;

/**
 * Counts the content of a JSON text in one pass over its bytes, and stops at a limit: parsing costs far more memory and
 * time than the text. A parsed value with fewer members than its text has lost some to duplicate keys: comparing two
 * numbers costs far less than a set of keys per object.
 */
export function scanJson(bytes: Uint8Array, limits: ScanLimits = {}): JsonScan {
  const { values: valuesMax = Infinity, outermost: outermostMax = Infinity, names: namesMax = Infinity } = limits;
  const found: JsonScan = {
    members: 0,
    values: 1,
    outermost: 1,
    names: 0,
    depth: 0,
    hasUnicodeEscape: false,
    exceeded: null,
  };
  const seen = namesMax === Infinity ? null : new NameCounter();
  const end = bytes.length;
  let depth = 0;
  let nameAt = 0;
  let at = 0;
  while (at < end) {
    const byte = bytes[at++]!;
    if (byte === QUOTE) {
      nameAt = at;
      while (at < end) {
        const inside = bytes[at++]!;
        if (inside === QUOTE) break;
        if (inside === BACKSLASH) {
          if (bytes[at] === LOWER_U) found.hasUnicodeEscape = true;
          at += 1;
        }
      }
    } else if (byte === NEWLINE) {
      // Most of an indented document is indentation.
      while (bytes[at] === SPACE) at += 1;
    } else if (byte === COMMA) {
      if (++found.values > valuesMax) return { ...found, exceeded: 'values' };
      if (depth === 1 && ++found.outermost > outermostMax) return { ...found, exceeded: 'outermost' };
    } else if (byte === COLON) {
      found.members += 1;
      if (seen !== null && (found.names += seen.add(bytes, nameAt, at)) > namesMax)
        return { ...found, exceeded: 'names' };
    } else if (byte >= 0x5b) {
      // `[` and `{` differ from `]` and `}` by two; letters of true, false and null lie between them.
      if (byte === 0x7b || byte === 0x5b) {
        depth += 1;
        if (depth > found.depth) found.depth = depth;
        if (++found.values > valuesMax) return { ...found, exceeded: 'values' };
      } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    }
  }
  return found;
}

/** Bits of the table: names with the same bit count as one. */
const TABLE_BITS = 20;

/** Counts distinct names in fixed memory. A parser stores each name once, which costs much more than a repetition. */
class NameCounter {
  readonly #table = new Uint8Array(2 ** (TABLE_BITS - 3));

  /** Returns 1 for a new name, else 0. */
  add(bytes: Uint8Array, from: number, to: number): number {
    let hash = 0x811c9dc5;
    for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    const bit = (hash ^ (hash >>> 15)) & (2 ** TABLE_BITS - 1);
    const mask = 1 << (bit & 7);
    const byte = this.#table[bit >> 3]!;
    this.#table[bit >> 3] = byte | mask;
    return (byte & mask) === 0 ? 1 : 0;
  }
}
