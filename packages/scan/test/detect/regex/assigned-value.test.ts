import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { beyondWords } from '../../../src/detect/judge/beyond-words.ts';
import { areWords, isNoSecret } from '../../../src/detect/judge/shapes.ts';
import { assignedValue, withValue } from '../../../src/detect/regex/assigned-value.ts';
import type { RegexNode } from '../../../src/detect/regex/ast.ts';
import { parseRegex } from '../../../src/detect/regex/parse.ts';
import { toJavaScript } from '../../../src/detect/regex/translate.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';

const judged = loadRules({ rules: [] }).rules.flatMap(({ judged, regex, secret_group }) =>
  judged && regex !== undefined ? [{ regex, group: secret_group }] : [],
);
const PATTERNS = [
  ...judged,
  { regex: '(?i:key)[=:]{1,3}([\\w=]{3,8})[;, ]', group: 1 },
  { regex: '(?i:key)[a-z ]{0,3}?=? ?([a-z]{2,5})(?:[;\\s]|$)', group: 1 },
];

/** What leads to a value in one pattern or another. */
const LEADS = ['token = ', 'token = "', 'password: ', 'password = "', 'key='];

function sticky(node: RegexNode): (text: string) => RegExpExecArray | null {
  const regex = new RegExp(toJavaScript(node), 'y');
  return (text) => {
    regex.lastIndex = 0;
    return regex.exec(text);
  };
}

const parts = fc.constantFrom(
  ...['key', 'token', 'SECRET', 'password', 'pwd', 'pass', ' = ', '=', ': ', ':', ' ', '"', "'", '`', ';', '\n', ','],
  ...[
    'process.env.API_KEY',
    'getToken',
    'value',
    'a1b2c3d4e5f6',
    'AbC',
    'x',
    '9',
    '_',
    '.',
    '(',
    ')',
    '\\',
    '<',
    '\xe9',
  ],
);
const assignment = fc
  .tuple(
    parts,
    fc.constantFrom('', '_a', '"'),
    fc.constantFrom(' = ', '=', ': ', ': "', " = '"),
    fc.array(parts),
    parts,
  )
  .map(([name, rest, sign, value, end]) => `${name}${rest}${sign}${value.join('')}${end}`);
const texts = fc.array(fc.oneof(parts, assignment), { minLength: 1, maxLength: 8 }).map((each) => each.join(''));

test('a value that is found is that of the preferred match, which ends behind it', () => {
  let found = 0;
  const forms = PATTERNS.flatMap(({ regex, group }) => {
    const { node } = parseRegex(regex);
    const value = assignedValue(node, group);
    return value === null ? [] : [{ value, pattern: new RegExp(toJavaScript(node), 'dy'), group }];
  });
  assert.ok(forms.length >= 6, `${forms.length} patterns have the form`);
  fc.assert(
    fc.property(texts, (text) => {
      const bytes = Buffer.from(` ${text}`, 'latin1');
      for (const { value, pattern, group } of forms)
        for (let at = 0; at < text.length; at++) {
          if (!value.find(text, at, { bytes, shift: 1, stop: bytes.length })) continue;
          pattern.lastIndex = at;
          const match = pattern.exec(text);
          assert.deepEqual([value.start - 1, value.end - 1], match?.indices?.[group], text);
          assert.equal(value.end, pattern.lastIndex, text);
          found++;
        }
    }),
    { numRuns: 2000 },
  );
  assert.ok(found > 100, `${found} values`);
});

test('a value that the bytes do not end is left to the pattern', () => {
  const value = assignedValue(parseRegex('key=(\\w{2,4})(?:;|$)').node, 1)!;
  const find = (text: string, stop = text.length): boolean =>
    value.find(text, 0, { bytes: Buffer.from(text), shift: 0, stop });
  assert.equal(find('key=abc;'), true);
  for (const text of ['key=abc', 'key=a;', 'key=abcde;', 'key=abc!', 'key=;']) assert.equal(find(text), false, text);
  assert.equal(find('key=abc;', 7), false);
});

test('patterns of another form have no value that is found by its bytes', () => {
  const none = [
    'key=(\\w{2,4})\\w',
    'key=(\\w{2,4}?);',
    'key=(?:(\\w{2,4});)?',
    '(key)=\\w;',
    'key=(\\w{0,4});',
    'key=(\\w{2,4})',
    '.{256}(\\w{2});',
  ];
  for (const pattern of none) assert.equal(assignedValue(parseRegex(pattern).node, 1), null, pattern);
});

test('what is more than words matches with another value, and most words do not', () => {
  const word = fc.constantFrom('a', 'key', 'Key', 'KEY', 'aB', '_', '.', ':', '-', '/', '9', '+', 'é');
  let words = 0;
  let leftOut = 0;
  const forms = PATTERNS.flatMap(({ regex, group }) => {
    const { node } = parseRegex(regex);
    const beyond = withValue(node, group, beyondWords);
    const lead = LEADS.find((each) => new RegExp(toJavaScript(node)).test(`${each}a9bKeyc9xyz";`));
    return beyond === null || lead === undefined ? [] : [{ lead, group, all: sticky(node), beyond: sticky(beyond) }];
  });
  assert.ok(forms.length >= 4, `${forms.length} patterns have the form`);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (parts) => {
      for (const { lead, group, all, beyond } of forms) {
        const text = Buffer.from(`${lead}${parts.join('')}";`).toString('latin1');
        const value = all(text)?.[group];
        if (value === undefined) continue;
        const bytes = Buffer.from(value, 'latin1');
        const isWords = areWords(bytes, 0, bytes.length);
        const isBeyond = beyond(text) !== null;
        if (!isWords) assert.ok(isBeyond, text);
        else {
          words++;
          if (!isBeyond) leftOut++;
        }
      }
    }),
    { numRuns: 3000 },
  );
  assert.ok(words > 100 && leftOut > 0.7 * words, `${leftOut} of ${words}`);
});

test('words and identifiers of bytes are values that are no secrets', () => {
  const word = fc.constantFrom('a', 'key', 'Key', 'KEY', 'aB', '_', '.', ':', '-', '/', '9', 'é', ' ');
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
      const bytes = Buffer.from(`(${words.join('')})`, 'latin1');
      const text = words.join('');
      const expected =
        /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$|^[a-z]+(?:[A-Z][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$|^[A-Za-z]+(?:[_.:/-][A-Za-z]+)+[_.:/-]?$/;
      assert.equal(areWords(bytes, 1, bytes.length - 1), expected.test(text), text);
      if (areWords(bytes, 1, bytes.length - 1)) assert.ok(isNoSecret(text), text);
    }),
    { numRuns: 2000 },
  );
});
