import type { ByteSet } from './byte-set.ts';

export type AssertionKind =
  'text_start' | 'text_end' | 'line_start' | 'line_end' | 'word_boundary' | 'no_word_boundary';

/** A pattern over bytes. Flags are resolved: case folding is in the sets, `(?s)` in `.`, `(?m)` in the assertions. */
export type RegexNode =
  | { type: 'empty' }
  /** One byte of a set. An empty set never matches. */
  | { type: 'bytes'; set: ByteSet }
  | { type: 'assertion'; kind: AssertionKind }
  | { type: 'sequence'; parts: readonly RegexNode[] }
  /** Earlier branches are preferred. */
  | { type: 'choice'; branches: readonly RegexNode[] }
  /** `max` is Infinity if unbounded. */
  | { type: 'repeat'; node: RegexNode; min: number; max: number; lazy: boolean }
  /** Groups count from 1, in the order of their opening parentheses. */
  | { type: 'capture'; node: RegexNode; group: number };

export interface ParsedRegex {
  node: RegexNode;
  groups: number;
}

const EMPTY: RegexNode = { type: 'empty' };

export function sequence(parts: readonly RegexNode[]): RegexNode {
  const flat = parts.flatMap((part) => (part.type === 'sequence' ? part.parts : part.type === 'empty' ? [] : [part]));
  if (flat.length === 0) return EMPTY;
  return flat.length === 1 ? flat[0]! : { type: 'sequence', parts: flat };
}

export function choice(branches: readonly RegexNode[]): RegexNode {
  return branches.length === 1 ? branches[0]! : { type: 'choice', branches };
}

/** Returns whether `\b` treats a byte as a word character: a letter, a digit or `_`. */
export function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x5f
  );
}
