import { choice, sequence } from '@heddle/base/regex/ast';
import type { RegexNode } from '../regex/ast.ts';
import type { ValueForm } from '../regex/assigned-value.ts';
import { type ByteSet, complement, intersection, rangeSet, setOf } from '../regex/byte-set.ts';

const CAPITALS = rangeSet([0x41, 0x5a]);
const LETTERS = rangeSet([0x41, 0x5a], [0x61, 0x7a]);
const JOINTS = setOf(...Buffer.from('_.:/-'));
const WORDS = LETTERS.map((word, at) => word | JOINTS[at]!);
const OTHERS = complement(WORDS);

/** Returns a pattern for the values of a form for which `areWords` is false, and some others, of any length. */
export function beyondWords({ first, rest }: ValueForm): RegexNode {
  const beginning = (set: ByteSet): RegexNode => ({ type: 'set', set: intersection(first, set) });
  const one = (set: ByteSet): RegexNode => ({ type: 'set', set: intersection(rest, set) });
  const many = (node: RegexNode): RegexNode => ({ type: 'repeat', node, min: 0, max: Infinity, lazy: false });
  const all: RegexNode = { type: 'set', set: rest };
  const letters = many(one(LETTERS));
  const words = many(one(WORDS));
  return choice([
    // Something else than letters and joints, or two joints without a letter before them.
    sequence([beginning(OTHERS), many(all)]),
    sequence([beginning(JOINTS), many(all)]),
    sequence([beginning(LETTERS), words, choice([one(OTHERS), sequence([one(JOINTS), one(JOINTS)])]), many(all)]),
    // A joint at the end.
    sequence([beginning(LETTERS), words, one(JOINTS)]),
    // One word, with two capitals in a row or with one at its end.
    sequence([beginning(CAPITALS), one(CAPITALS), letters]),
    sequence([
      beginning(LETTERS),
      letters,
      one(CAPITALS),
      choice([{ type: 'empty' }, sequence([one(CAPITALS), letters])]),
    ]),
  ]);
}
