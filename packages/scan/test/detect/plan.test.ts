import assert from 'node:assert/strict';
import test from 'node:test';

import { KeywordScanner } from '../../src/detect/keywords/scanner.ts';
import { compileProgram, ProgramTooLarge } from '../../src/detect/regex/program.ts';
import { parseRegex } from '../../src/detect/regex/parse.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

const PARTS = Array.from({ length: 50 }, (_each, at) => `${String.fromCharCode(0x67 + (at % 20))}${at}-`);
const TIMES = 100;
/** Begins with what a filter can check, and goes on with more than a look-ahead can hold. */
const LARGE = `acme_[0-9]{6}(?:${PARTS.join('|')}){${TIMES}}`;
/** Hits after which a look-ahead is made are 2,048. */
const MANY = 3000;

test('the look-ahead of a pattern that is too large for it is that of its filter, and leaves out no match', (t) => {
  assert.throws(() => compileProgram(parseRegex(LARGE).node), ProgramTooLarge);
  const tables = t.mock.method(KeywordScanner.prototype, 'lookAhead');
  const detector = detectorOf(`[[rules]]\nid = "large"\nregex = '''${LARGE}'''\nkeywords = ["acme_"]\n`);
  const match = `acme_123456${PARTS.join('').repeat(TIMES / PARTS.length)}`;
  const others = 'acme_12345x '.repeat(MANY);
  const text = `${match} ${others}${match} acme_123456g0 ${others}${match}`;
  const found = scanObject(detector, text).map(({ offset }) => offset);
  assert.deepEqual(found, [0, match.length + 1 + others.length, text.length - match.length]);
  assert.deepEqual(
    tables.mock.calls.map(({ arguments: [, table] }) => table !== null),
    [true],
  );
});
