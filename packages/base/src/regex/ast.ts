export type AssertionKind =
  'text_start' | 'text_end' | 'line_start' | 'line_end' | 'word_boundary' | 'no_word_boundary';

/**
 * A pattern over bytes or characters, of which `S` is a set. Flags are resolved: case folding is in the sets, `(?s)` in
 * `.`, `(?m)` in the assertions.
 */
export type RegexNode<S> =
  | { type: 'empty' }
  /** One member of a set. An empty set never matches. */
  | { type: 'set'; set: S }
  | { type: 'assertion'; kind: AssertionKind }
  | { type: 'sequence'; parts: readonly RegexNode<S>[] }
  /** Earlier branches are preferred. */
  | { type: 'choice'; branches: readonly RegexNode<S>[] }
  /** `max` is Infinity if unbounded. */
  | { type: 'repeat'; node: RegexNode<S>; min: number; max: number; lazy: boolean }
  /** Groups count from 1, in the order of their opening parentheses. */
  | { type: 'capture'; node: RegexNode<S>; group: number };

export interface ParsedRegex<S> {
  node: RegexNode<S>;
  groups: number;
}

export function sequence<S>(parts: readonly RegexNode<S>[]): RegexNode<S> {
  const flat = parts.flatMap((part) => (part.type === 'sequence' ? part.parts : part.type === 'empty' ? [] : [part]));
  if (flat.length === 0) return { type: 'empty' };
  return flat.length === 1 ? flat[0]! : { type: 'sequence', parts: flat };
}

export function choice<S>(branches: readonly RegexNode<S>[]): RegexNode<S> {
  return branches.length === 1 ? branches[0]! : { type: 'choice', branches };
}

/** Returns whether `\b` treats a character as part of a word: a letter, a digit or `_`. */
export function isWordCharacter(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x5f
  );
}
