import type { Alphabet, ClassParts } from '@heddle/base/regex/alphabet';
import { choice, sequence } from '@heddle/base/regex/ast';
import type { RegexNode } from './ast.ts';
import { type ByteSet, addRange, addSet, complement, emptySet, foldCase, rangeSet, setOf } from './byte-set.ts';

/** The alphabet of patterns over the bytes of UTF-8. */
export const BYTES: Alphabet<ByteSet> = {
  setOf: (ranges) => rangeSet(...ranges),
  complement,
  property,
  character(codePoint, ignoreCase) {
    if (codePoint >= 0x80) return characterNode(codePoint);
    const set = setOf(codePoint);
    return { type: 'set', set: ignoreCase ? foldCase(set) : set };
  },
  characterClass,
};

/**
 * Returns a Unicode property in terms of bytes: exact for ASCII; every byte of other characters belongs to it if any
 * non-ASCII character may. Returns null for an unknown property.
 */
function property(name: string, negated: boolean): ByteSet | null {
  if (name === 'Any') return rangeSet([negated ? 0x80 : 0, 0xff]);
  let expression: RegExp;
  try {
    expression = new RegExp(`^\\p{${/^[A-Z][a-z]?$/.test(name) ? name : `Script=${name}`}}$`, 'u');
  } catch {
    return null;
  }
  const set = emptySet();
  for (let byte = 0; byte < 0x80; byte++) {
    if (expression.test(String.fromCharCode(byte)) !== negated) addRange(set, byte, byte);
  }
  addRange(set, 0x80, 0xff);
  return set;
}

/**
 * Returns a class as a node. A negated class accepts every non-ASCII byte, since the matcher sees bytes, not
 * characters.
 */
function characterClass(
  { sets, ranges }: ClassParts<ByteSet>,
  { negated, ignoreCase }: { negated: boolean; ignoreCase: boolean },
): RegexNode {
  let bytes = emptySet();
  for (const set of sets) addSet(bytes, set);
  for (const [low, high] of ranges) addRange(bytes, low, Math.min(high, 0x7f));
  if (ignoreCase) bytes = foldCase(bytes);
  if (negated) return { type: 'set', set: complement(bytes) };
  const beyond = ranges.filter(([, high]) => high >= 0x80);
  if (beyond.length === 0) return { type: 'set', set: bytes };
  const branches: RegexNode[] = beyond.flatMap(([low, high]) => utf8Ranges(Math.max(low, 0x80), high));
  if (bytes.some((word) => word !== 0)) branches.unshift({ type: 'set', set: bytes });
  return choice(branches);
}

/** Returns the UTF-8 bytes of one character. */
function characterNode(codePoint: number): RegexNode {
  const bytes = [...Buffer.from(String.fromCodePoint(codePoint))];
  return sequence(bytes.map((byte): RegexNode => ({ type: 'set', set: setOf(byte) })));
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
  return [sequence(from.map((byte, at): RegexNode => ({ type: 'set', set: rangeSet([byte, to[at]!]) })))];
}

/** Encodes surrogates too: they only occur as ends of ranges. */
function utf8Bytes(codePoint: number): number[] {
  const tail = (shift: number): number => 0x80 | ((codePoint >> shift) & 0x3f);
  if (codePoint < 0x80) return [codePoint];
  if (codePoint < 0x800) return [0xc0 | (codePoint >> 6), tail(0)];
  if (codePoint < 0x10000) return [0xe0 | (codePoint >> 12), tail(6), tail(0)];
  return [0xf0 | (codePoint >> 18), tail(12), tail(6), tail(0)];
}
