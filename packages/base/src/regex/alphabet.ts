import type { RegexNode } from './ast.ts';

/** Code points from the first to the second, both included. */
export type CodeRange = readonly [low: number, high: number];

/** What patterns over bytes and over characters have of their own; `S` is a set of either. */
export interface Alphabet<S> {
  /** Returns a set of ASCII characters. */
  setOf(ranges: readonly CodeRange[]): S;
  complement(set: S): S;
  /** Returns a Unicode property, such as `Lu` or `Greek`; null if it is unknown. */
  property(name: string, negated: boolean): S | null;
  character(codePoint: number, ignoreCase: boolean): RegexNode<S>;
  characterClass(parts: ClassParts<S>, options: { negated: boolean; ignoreCase: boolean }): RegexNode<S>;
}

/** The members of a bracket expression. */
export interface ClassParts<S> {
  sets: S[];
  ranges: CodeRange[];
}

/** `\d`, `\s` and `\w` as in RE2: ASCII, and no vertical tab in `\s`. Each pair of characters is a range. */
export const PERL_CLASSES: Readonly<Record<string, string>> = { d: '09', s: '\t\n\f\r  ', w: '09AZ__az' };

/** The names between `[:` and `:]`, likewise. */
export const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: '09AZaz',
  alpha: 'AZaz',
  ascii: '\0\x7f',
  blank: '\t\t  ',
  cntrl: '\0\x1f\x7f\x7f',
  digit: '09',
  graph: '!~',
  lower: 'az',
  print: ' ~',
  punct: '!/:@[`{~',
  space: '\t\r  ',
  upper: 'AZ',
  word: '09AZ__az',
  xdigit: '09AFaf',
};

/** Returns the sets of named classes, and under `^name` their complements. */
export function namedSets<S>(alphabet: Alphabet<S>, classes: Readonly<Record<string, string>>): ReadonlyMap<string, S> {
  const sets = new Map<string, S>();
  for (const [name, pairs] of Object.entries(classes)) {
    const set = alphabet.setOf(pairs.match(/../gs)!.map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]));
    sets.set(name, set).set(`^${name}`, alphabet.complement(set));
  }
  return sets;
}
