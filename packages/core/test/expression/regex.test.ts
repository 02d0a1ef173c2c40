import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { runPattern } from '../../src/expression/regex/match.ts';
import { compilePattern } from '../../src/expression/regex/pattern.ts';

function matches(source: string, text: string): boolean {
  return runPattern(compilePattern(source), text, () => undefined);
}

describe('patterns', () => {
  const cases: [string, string, boolean][] = [
    ['^https?://', 'http://x', true],
    ['^https?://', 'xhttp://', false],
    ['^\\d{3}-\\d{4}$', '555-1234', true],
    ['^\\d{3}-\\d{4}$', '555-12345', false],
    ['(?i)admin', 'SuperADMIN', true],
    ['(?i:a)b', 'AB', false],
    ['a.c', 'a\nc', false],
    ['(?s)a.c', 'a\nc', true],
    ['(?m)^b$', 'a\nb\nc', true],
    ['\\bcat\\b', 'a cat!', true],
    ['\\bcat\\b', 'concat', false],
    ['[^a-c]', 'abc', false],
    ['[]x]', ']', true],
    ['[[:digit:]]+', 'a1', true],
    ['\\p{L}+', '1é', true],
    ['^\\p{Greek}$', 'λ', true],
    ['^.$', '😀', true],
    ['(a*)*b', 'aaab', true],
    ['', '', true],
    ['x*', 'y', true],
    ['\\x41\\x{1F600}', 'A😀', true],
    ['(?P<year>\\d+)', 'y2026', true],
    ['a{2,}', 'a', false],
    ['a{,2}', 'a{,2}', true],
  ];
  for (const [source, text, expected] of cases) {
    it(`${source} ${expected ? 'matches' : 'does not match'} ${JSON.stringify(text)}`, () => {
      assert.equal(matches(source, text), expected);
    });
  }

  for (const source of [
    '(a',
    'a)',
    '*a',
    'a**',
    '[a',
    '[z-a]',
    '(?=a)',
    '(?<!a)',
    '\\1',
    '\\q',
    'a{2000}',
    '((a{900}){900})',
    'a{3,2}',
  ]) {
    it(`${source} is refused`, () => {
      assert.throws(() => compilePattern(source), Error);
    });
  }

  it('agree with those of the platform', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\b', '^', '$');
    const quantifier = fc.constantFrom('', '', '*', '+', '?', '{1,2}', '*?');
    const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
      piece: fc.oneof(
        { depthSize: 'small' },
        fc.tuple(atom, quantifier).map(([text, count]) => (/^(\^|\$|\\b)$/.test(text) ? text : text + count)),
        fc.tuple(tie('pattern'), quantifier).map(([inner, count]) => `(${inner})${count}`),
        fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
      ),
      pattern: fc.array(tie('piece'), { maxLength: 3 }).map((pieces) => pieces.join('')),
    }));
    fc.assert(
      fc.property(pattern, fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 6 }), (source, text) => {
        assert.equal(matches(source, text), new RegExp(source, 'u').test(text));
      }),
      { numRuns: 2000 },
    );
  });
});
