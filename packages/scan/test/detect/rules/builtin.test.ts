import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { compileRules } from '../../../src/detect/compile-rules.ts';
import { createDetector } from '../../../src/detect/detector.ts';
import { builtinRuleTexts } from '../../../src/detect/rules/builtin.ts';
import { compileRule } from '../../../src/detect/rules/compile-rule.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';
import { parseRules } from '../../../src/detect/rules/parse-rules.ts';
import { expandCase, readCases } from '../../support/detect/rules/case-text.ts';
import { formCases } from '../../support/detect/rules/form-cases.ts';

const OPTIONS = { rules: [], decodeDepth: 0, inlineIgnores: true, ruleTimeoutMs: 60_000, contextLines: 0 };
/** Number of ways in which each case is filled in. */
const FILLINGS = 3;

const { rules, warnings } = loadRules(OPTIONS);
const written = readCases();
const made = formCases();
const detector = createDetector(compileRules(OPTIONS), OPTIONS, { buffers_max: 1, buffer_bytes: 65_536 });

/** Returns the rules that find anything in a text. */
function rulesThatFind(path: string, text: string): string[] {
  const bytes = Buffer.from(text);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
  return (detector.begin(path)?.scan(chunk) ?? []).map(({ rule_id }) => rule_id);
}

/** Returns the texts of a rule's cases with an unexpected outcome. */
function wrong(id: string, kind: 'positive' | 'negative'): string[] {
  const templates = [...(written.get(id)?.[kind] ?? []), ...(made.get(id)?.[kind] ?? [])];
  return templates.flatMap((template, at) =>
    Array.from({ length: FILLINGS }, (_, filling) => {
      const { path, text } = expandCase(template, `${id} ${kind} ${at} ${filling}`);
      const isFound = rulesThatFind(path, text).includes(id);
      return isFound === (kind === 'positive') ? '' : `${kind} ${at + 1}: ${text}`;
    }).filter((each) => each !== ''),
  );
}

describe('each built-in rule finds its positive cases and none of its near misses', () => {
  for (const { id } of rules) {
    test(id, () => {
      assert.deepEqual([...wrong(id, 'positive'), ...wrong(id, 'negative')], []);
    });
  }
});

test('each rule has at least two positive and three negative cases, and each case has a rule', () => {
  const few = rules.filter(({ id }) => {
    const { positive = [], negative = [] } = written.get(id) ?? made.get(id) ?? {};
    return positive.length < 2 || negative.length < 3;
  });
  assert.deepEqual(
    few.map(({ id }) => id),
    [],
  );
  const ids = new Set(rules.map(({ id }) => id));
  assert.deepEqual(
    [...written.keys()].filter((id) => !ids.has(id)),
    [],
  );
});

test('the set covers what it promises, and its files have no unknown fields', () => {
  const providers = new Set(rules.filter(({ tags }) => tags[0] !== 'generic').map(({ tags }) => tags[1]));
  assert.ok(rules.length >= 130, `${rules.length} rules`);
  assert.ok(providers.size >= 110, `${providers.size} providers`);
  assert.deepEqual(warnings, []);
});

test('each rule describes the finding and the remedy, and names family and provider', () => {
  for (const text of builtinRuleTexts()) {
    const family = text.name.replace(/^builtin\/|\.toml$/g, '');
    for (const { id, description, tags } of parseRules(text).rules) {
      assert.match(id, /^[a-z0-9]+(?:-[a-z0-9]+)+$/);
      assert.match(description, /^Found [^;]+; [^;]+(?:; [^;]+)?\.$/, id);
      assert.equal(tags[0], family, id);
      assert.match(tags[1] ?? '', /^[a-z0-9]+(?:-[a-z0-9]+)*$/, id);
      assert.equal(tags.length, 2, id);
    }
  }
});

/** Tokens without a prefix of four characters whose first literal is still rare in text. */
const KEYWORD_LENGTH_MIN = 3;

test('each rule is tried only close to one of its literals', () => {
  const elsewhere = rules.map(compileRule).filter(({ placement }) => placement.type !== 'anchored');
  assert.deepEqual(
    elsewhere.map(({ rule }) => rule.id),
    [],
  );
  const short = rules.filter(({ keywords }) => keywords.some(({ length }) => length < KEYWORD_LENGTH_MIN));
  assert.deepEqual(
    short.map(({ id }) => id),
    [],
  );
  const unmatched = rules.filter(({ keywords }) => keywords.some((word) => word !== word.toLowerCase()));
  assert.deepEqual(unmatched, []);
});
