import { type RegexNode, choice, sequence } from './ast.ts';
import { type ByteSet, addRange, addSet, complement, emptySet, rangeSet, setOf } from './byte-set.ts';

const DIGIT = rangeSet([0x30, 0x39]);
const SPACE = setOf(0x09, 0x0a, 0x0c, 0x0d, 0x20);
const WORD = rangeSet([0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]);

/** `\d`, `\s`, `\w` and their complements as in RE2: ASCII, and no vertical tab in `\s`. */
export const PERL_CLASSES: Readonly<Record<string, ByteSet>> = {
  d: DIGIT,
  s: SPACE,
  w: WORD,
  D: complement(DIGIT),
  S: complement(SPACE),
  W: complement(WORD),
};

/** The names between `[:` and `:]`. */
export const POSIX_CLASSES: Readonly<Record<string, ByteSet>> = {
  alnum: rangeSet([0x30, 0x39], [0x41, 0x5a], [0x61, 0x7a]),
  alpha: rangeSet([0x41, 0x5a], [0x61, 0x7a]),
  ascii: rangeSet([0x00, 0x7f]),
  blank: setOf(0x09, 0x20),
  cntrl: rangeSet([0x00, 0x1f], [0x7f, 0x7f]),
  digit: DIGIT,
  graph: rangeSet([0x21, 0x7e]),
  lower: rangeSet([0x61, 0x7a]),
  print: rangeSet([0x20, 0x7e]),
  punct: rangeSet([0x21, 0x2f], [0x3a, 0x40], [0x5b, 0x60], [0x7b, 0x7e]),
  space: rangeSet([0x09, 0x0d], [0x20, 0x20]),
  upper: rangeSet([0x41, 0x5a]),
  word: WORD,
  xdigit: rangeSet([0x30, 0x39], [0x41, 0x46], [0x61, 0x66]),
};

/**
 * Returns a Unicode property in terms of bytes: exact for ASCII; every byte of other characters belongs to it if any
 * non-ASCII character may. Returns null for an unknown property.
 */
export function unicodeProperty(name: string): ByteSet | null {
  if (name === 'Any') return rangeSet([0, 0xff]);
  let expression: RegExp;
  try {
    expression = new RegExp(`^\\p{${/^[A-Z][a-z]?$/.test(name) ? name : `Script=${name}`}}$`, 'u');
  } catch {
    return null;
  }
  const set = emptySet();
  for (let byte = 0; byte < 0x80; byte++) if (expression.test(String.fromCharCode(byte))) addRange(set, byte, byte);
  addRange(set, 0x80, 0xff);
  return set;
}

/** The members of a bracket expression: bytes, and ranges of non-ASCII characters. */
export interface ClassParts {
  bytes: ByteSet;
  ranges: [number, number][];
}

/**
 * Returns a class as a node. A negated class accepts every non-ASCII byte, since the matcher sees bytes, not
 * characters.
 */
export function classNode({ bytes, ranges }: ClassParts, negated: boolean): RegexNode {
  if (negated) return { type: 'bytes', set: complement(bytes) };
  if (ranges.length === 0) return { type: 'bytes', set: bytes };
  const branches: RegexNode[] = ranges.flatMap(([low, high]) => utf8Ranges(low, high));
  if (bytes.some((word) => word !== 0)) branches.unshift({ type: 'bytes', set: bytes });
  return choice(branches);
}

/** Returns the UTF-8 bytes of one character. */
export function characterNode(codePoint: number): RegexNode {
  const bytes = [...Buffer.from(String.fromCodePoint(codePoint))];
  return sequence(bytes.map((byte): RegexNode => ({ type: 'bytes', set: setOf(byte) })));
}

/** Returns non-ASCII characters from `low` to `high` as sequences of byte ranges. */
function utf8Ranges(low: number, high: number): RegexNode[] {
  for (const limit of [0x7ff, 0xffff]) {
    if (low <= limit && high > limit) return [...utf8Ranges(low, limit), ...utf8Ranges(limit + 1, high)];
  }
  for (let tail = 1; tail <= 3; tail++) {
    const mask = (1 << (6 * tail)) - 1;
    if ((low & ~mask) === (high & ~mask)) continue;
    if ((low & mask) !== 0) return [...utf8Ranges(low, low | mask), ...utf8Ranges((low | mask) + 1, high)];
    if ((high & mask) !== mask) return [...utf8Ranges(low, (high & ~mask) - 1), ...utf8Ranges(high & ~mask, high)];
  }
  const from = utf8Bytes(low);
  const to = utf8Bytes(high);
  return [sequence(from.map((byte, at): RegexNode => ({ type: 'bytes', set: rangeSet([byte, to[at]!]) })))];
}

/** Encodes surrogates too: they only occur as ends of ranges. */
function utf8Bytes(codePoint: number): number[] {
  const tail = (shift: number): number => 0x80 | ((codePoint >> shift) & 0x3f);
  if (codePoint < 0x80) return [codePoint];
  if (codePoint < 0x800) return [0xc0 | (codePoint >> 6), tail(0)];
  if (codePoint < 0x10000) return [0xe0 | (codePoint >> 12), tail(6), tail(0)];
  return [0xf0 | (codePoint >> 18), tail(12), tail(6), tail(0)];
}

/** Adds a range of characters to a class: ASCII to its bytes, the rest to its ranges. */
export function addCharacters(parts: ClassParts, low: number, high: number): void {
  if (low < 0x80) addRange(parts.bytes, low, Math.min(high, 0x7f));
  if (high >= 0x80) parts.ranges.push([Math.max(low, 0x80), high]);
}

export function addClass(parts: ClassParts, set: ByteSet): void {
  addSet(parts.bytes, set);
}
