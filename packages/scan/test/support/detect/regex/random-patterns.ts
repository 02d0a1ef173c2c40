import fc from 'fast-check';

/** Patterns that RE2 and JavaScript interpret alike: no empty loops, whose captures and ends differ between engines. */
export const patterns: fc.Arbitrary<string> = fc.letrec<{ atom: string; item: string; pattern: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\w', '\\s', '\\d', '(?:ab)', '(?:a|b)', '(?:a|ab)'),
    tie('pattern').map((inner) => `(a${inner})`),
    tie('pattern').map((inner) => `(?:${inner}b)`),
  ),
  item: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '??', '{1,3}', '{2}', '{0,2}?', '{2,}'))
    .map(([atom, quantifier]) => atom + quantifier),
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.array(tie('item'), { minLength: 1, maxLength: 4 }).map((items) => items.join('')),
    fc.tuple(tie('item'), tie('item')).map((branches) => branches.join('|')),
    fc.tuple(fc.constantFrom('\\b', '^', '(?m)^', '\\B'), tie('item')).map((parts) => parts.join('')),
    fc.tuple(tie('item'), fc.constantFrom('\\b', '$', '(?m:$)')).map((parts) => parts.join('')),
  ),
})).pattern;

export const texts: fc.Arbitrary<string> = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', ' ', '\n', '1', 'A', '_'),
  maxLength: 24,
});
