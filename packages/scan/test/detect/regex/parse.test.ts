import assert from 'node:assert/strict';
import test from 'node:test';
import { RegexSyntaxError } from '@heddle/base/regex/parse';
import { compileRegex } from '../../../src/detect/regex/compiled-regex.ts';
import { parseRegex } from '../../../src/detect/regex/parse.ts';

/** Returns what a pattern finds first. */
function find(pattern: string, text: string): string | null {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const match = compileRegex(pattern, 4096, 64).search(bytes);
  return match === null ? null : Buffer.from(bytes.slice(match.start, match.end), 'latin1').toString('utf8');
}

const FINDS: readonly [pattern: string, text: string, found: string | null][] = [
  ['(?i)key', 'my KeY', 'KeY'],
  ['a(?i)b', 'AB aB', 'aB'],
  ['a(?i:b)c', 'aBC aBc', 'aBc'],
  ['(?i)a(?-i:b)c', 'ABC AbC', 'AbC'],
  ['a.c', 'a\nc abc', 'abc'],
  ['(?s:a.c)', 'a\nc', 'a\nc'],
  ['(?s).+(?-s).', 'a\n', null],
  ['(?m)^b$', 'a\nb\nc', 'b'],
  ['^b', 'a\nb', null],
  ['a$', 'a\n', null],
  ['a\\z', 'ba', 'a'],
  ['\\Aa', 'ba', null],
  ['[[:alnum:]]+', '--a1-', 'a1'],
  ['[[:^alpha:]]+', 'ab12', '12'],
  ['[^[:space:]]+', ' x.y ', 'x.y'],
  ['\\x41\\x{42}', 'AB', 'AB'],
  ['[\\x60\'"]', '`', '`'],
  ['\\101', 'A', 'A'],
  ['\\Qa.b*\\E+', 'a.b**', 'a.b**'],
  ['(?P<name>x+)y', 'xxy', 'xxy'],
  ['(?<name>x+)y', 'xxy', 'xxy'],
  ['a{2,3}', 'aaaa', 'aaa'],
  ['a{2,3}?', 'aaaa', 'aa'],
  ['a{2,}', 'aaaa', 'aaaa'],
  ['(?U)a{2,}', 'aaaa', 'aa'],
  ['(?U)a+?', 'aaaa', 'aaaa'],
  ['{x}', '{x}', '{x}'],
  ['a{,2}', 'a{,2}', 'a{,2}'],
  ['^\\${(?:[A-Z]+)}$', '${AB}', '${AB}'],
  ['[]a]+', ']a', ']a'],
  ['[^]a]+', ']b', 'b'],
  ['[a\\]-]+', 'a]-', 'a]-'],
  ['\\bfoo\\b', 'xfoo foo', 'foo'],
  ['\\Boo', 'oo foo', 'oo'],
  ['é+', 'caféé', 'éé'],
  ['[à-ü]x', 'aéx', 'éx'],
  ['[^a]x', 'ax é' + 'x', null],
  ['\\pL+', '12ab', 'ab'],
  ['\\p{Lu}', 'aB', 'B'],
  ['\\P{Lu}', 'Ba', 'a'],
  ['[\\w.-]+', '€a.b-c', 'a.b-c'],
  ['\\s', '\vx\t', '\t'],
  ['a|ab', 'ab', 'a'],
  ['(?:|a)+b', 'aab', 'aab'],
  ['x*', 'aaa', ''],
];

for (const [pattern, text, found] of FINDS) {
  test(`${pattern} finds ${JSON.stringify(found)} in ${JSON.stringify(text)}`, () => {
    if (pattern === '[^a]x') assert.equal(compileRegex(pattern, 64).search('ax \xe9x')?.start, 3);
    else assert.equal(find(pattern, text), found);
  });
}

const REFUSED: readonly [pattern: string, position: number, reason: RegExp][] = [
  ['ab(?=c)', 2, /lookahead/],
  ['ab(?!c)', 2, /lookahead/],
  ['(?<=a)b', 0, /lookbehind/],
  ['(?<!a)b', 0, /lookbehind/],
  ['(a)\\1', 3, /reference/],
  ['(?P<a>x)(?P=a)', 8, /reference/],
  ['(?>a)', 0, /atomic/],
  ['a++', 2, /possessive/],
  ['a**', 2, /repetition of a repetition/],
  ['*a', 0, /nothing to repeat/],
  ['(a', 0, /not closed/],
  ['a)', 1, /closing parenthesis/],
  ['[a', 0, /class is not closed/],
  ['[b-a]', 0, /reversed/],
  ['[[:nope:]]', 1, /not known/],
  ['\\pQ', 0, /property/],
  ['\\p{Nope}', 0, /property/],
  ['\\y', 0, /no meaning/],
  ['a\\Z', 1, /use \\z/],
  ['a{3,2}', 1, /lower bound/],
  ['a{99999}', 1, /beyond/],
  ['a\\', 2, /unexpectedly/],
  ['(?x)a', 0, /flags/],
  ['('.repeat(300), 200, /nested deeper/],
];

for (const [pattern, position, reason] of REFUSED) {
  test(`${pattern.slice(0, 20)} is rejected with position and reason`, () => {
    assert.throws(
      () => parseRegex(pattern),
      (error: unknown) => {
        assert.ok(error instanceof RegexSyntaxError);
        assert.equal(error.position, position);
        assert.match(error.message, reason);
        return true;
      },
    );
  });
}

test('groups count in the order of their parentheses; unused ones are undefined', () => {
  const match = compileRegex('(a)|(?P<second>b)((c))?', 64).search('b');
  assert.deepEqual(match?.groups, [undefined, 'b', undefined, undefined]);
});
