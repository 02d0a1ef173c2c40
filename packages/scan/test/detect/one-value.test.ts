import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import type { Detection } from '../../src/detect/port.ts';
import { detectorOf, scanObject } from '../support/detect/fixture.ts';

interface RuleParts {
  id: string;
  regex: string;
  confidence?: string;
}

const ruleOf = ({ id, regex, confidence = 'medium' }: RuleParts, more = ''): string =>
  `[[rules]]\nid = "${id}"\nregex = '''${regex}'''\nkeywords = ["tok"]\nconfidence = "${confidence}"\n${more}`;

const found = (toml: string, text: string): Detection[] =>
  scanObject(detectorOf(toml, { decodeDepth: 0, confidence: 'low' }), text);
const briefly = (detections: readonly Detection[]): string[] =>
  detections.map(({ rule_id, line, secret }) => `${rule_id} ${line} ${secret}`);

const PLAIN = ruleOf({ id: 'plain', regex: '(tok[0-9]{4})' });
const NAMED = ruleOf({ id: 'named', regex: 'key=(tok[0-9]{4})', confidence: 'high' });

test('of two specific rules that find one value at one place, the surest reports it, then the first by id', () => {
  assert.deepEqual(briefly(found(PLAIN + NAMED, 'key=tok1234')), ['named 1 tok1234']);
  const equal = NAMED.replace('"high"', '"medium"');
  assert.deepEqual(briefly(found(PLAIN + equal, 'key=tok1234')), ['named 1 tok1234']);
  assert.deepEqual(briefly(found(PLAIN.replace('"plain"', '"a"') + equal, 'key=tok1234')), ['a 1 tok1234']);
});

test('other values and other places are findings of their own', () => {
  assert.deepEqual(briefly(found(PLAIN + NAMED, 'key=tok1234\ntok1234 tok5678')), [
    'named 1 tok1234',
    'plain 2 tok1234',
    'plain 2 tok5678',
  ]);
  const longer = ruleOf({ id: 'longer', regex: '(tok[0-9]{4}-[a-z]+)', confidence: 'high' });
  assert.deepEqual(briefly(found(PLAIN + longer, 'tok1234-abc')), ['longer 1 tok1234-abc', 'plain 1 tok1234']);
});

test('a rule that may report nothing silences no other', () => {
  const needing = ruleOf({ id: 'a', regex: 'key=(tok[0-9]{4})', confidence: 'high' }, '[[rules.required]]\nid = "b"\n');
  const helper = ruleOf({ id: 'b', regex: '(tok[0-9]{4})!', confidence: 'high' }, 'skipReport = true\n');
  assert.deepEqual(briefly(found(PLAIN + needing + helper, 'key=tok1234')), ['plain 1 tok1234']);
  assert.deepEqual(briefly(found(PLAIN + helper, 'tok1234!')), ['plain 1 tok1234']);
});

test('whatever the rules, each value that one of them reports alone is reported by one of them together', () => {
  const rules = fc.uniqueArray(
    fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd', 'generic-e', 'generic-f'),
      regex: fc.constantFrom('(tok[0-9]{4})', 'key=(tok[0-9]{4})', '(tok[0-9]{4})!', '[a-z=]*(tok[0-9]{4})'),
      confidence: fc.constantFrom('low', 'medium', 'high'),
    }),
    { selector: ({ id }) => id, minLength: 1 },
  );
  const texts = fc
    .array(fc.constantFrom('key=', 'tok1234', 'tok5678', '!', ' ', '\n', 'tok'), { maxLength: 12 })
    .map((parts) => parts.join(''));
  const secrets = (detections: readonly Detection[]): string[] =>
    [...new Set(detections.map(({ line, secret }) => `${line} ${secret}`))].sort();
  fc.assert(
    fc.property(rules, texts, (given, text) => {
      const alone = given.flatMap((rule) => found(ruleOf(rule), text));
      const together = found(given.map((rule) => ruleOf(rule)).join(''), text);
      assert.deepEqual(secrets(together), secrets(alone));
    }),
    { numRuns: 150 },
  );
});
