import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { compileFrom } from '../../../src/detect/compile-rules.ts';
import { createDetector } from '../../../src/detect/detector.ts';
import { builtinRuleTexts } from '../../../src/detect/rules/builtin.ts';
import { compileRule } from '../../../src/detect/rules/compile-rule.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';
import type { Detector } from '../../../src/detect/port.ts';
import { parseRules } from '../../../src/detect/rules/parse-rules.ts';
import type { Rule } from '../../../src/detect/rules/rule.ts';
import { type CaseText, expandCase, readCases } from '../../support/detect/rules/case-text.ts';
import { checkedText } from '../../support/detect/rules/checked-text.ts';
import { formCases } from '../../support/detect/rules/form-cases.ts';

const OPTIONS = {
  rules: [],
  confidence: 'medium' as const,
  decodeDepth: 0,
  inlineIgnores: true,
  ruleTimeoutMs: 60_000,
  contextLines: 0,
};
/** Number of ways in which each case is filled in. */
const FILLINGS = 3;

const set = loadRules(OPTIONS);
const { rules, warnings } = set;
const written = readCases();
const made = formCases();
const all = createDetector(compileFrom(set), OPTIONS, { buffers_max: 1, buffer_bytes: 65_536 });

/** Creates the detector of one rule, without the others that may be preferred to it. */
function detectorOf(rule: Rule): Detector {
  const compiled = compileFrom({ ...set, rules: [rule] });
  return createDetector(compiled, OPTIONS, { buffers_max: 1, buffer_bytes: 65_536 });
}

/** Whether a rule reports anything in a text. */
function finds(detector: Detector, id: string, { path, text }: CaseText): boolean {
  const bytes = Buffer.from(text);
  const chunk = { bytes, length: bytes.length, prefix_length: 0, base_offset: 0, last: true };
  return (detector.begin(path)?.scan(chunk) ?? []).some(
    ({ rule_id, confidence }) => rule_id === id && confidence !== 'low',
  );
}

/** Returns the texts of a rule's cases with an unexpected outcome. */
function wrong(detector: Detector, rule: Rule, kind: 'positive' | 'negative'): string[] {
  const { id } = rule;
  const templates = [...(written.get(id)?.[kind] ?? []), ...(made.get(id)?.[kind] ?? [])];
  return templates.flatMap((template, at) =>
    Array.from({ length: FILLINGS }, (_, filling) => {
      const expanded = expandCase(template, `${id} ${kind} ${at} ${filling}`);
      if (kind === 'positive') expanded.text = checkedText(rule, expanded.text);
      return finds(detector, id, expanded) === (kind === 'positive') ? '' : `${kind} ${at + 1}: ${expanded.text}`;
    }).filter((each) => each !== ''),
  );
}

describe('each built-in rule finds its positive cases and none of its near misses', () => {
  for (const rule of rules) {
    test(rule.id, () => {
      // A generic rule yields to others.
      const detector = rule.tags[0] === 'generic' ? all : detectorOf(rule);
      assert.deepEqual([...wrong(detector, rule, 'positive'), ...wrong(detector, rule, 'negative')], []);
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

test('a credential whose checksum is wrong is not reported', () => {
  const checked = rules.filter(({ checksum }) => checksum !== undefined);
  assert.ok(checked.length >= 8);
  for (const rule of checked) {
    const detector = detectorOf(rule);
    for (const template of written.get(rule.id)!.positive) {
      const expanded = expandCase(template, rule.id);
      assert.equal(finds(detector, rule.id, expanded), false, rule.id);
      const right = { ...expanded, text: checkedText(rule, expanded.text) };
      assert.equal(finds(detector, rule.id, right), true, rule.id);
    }
  }
});

test('the set covers what it promises, and its files have no unknown fields', () => {
  const providers = new Set(rules.filter(({ tags }) => tags[0] !== 'generic').map(({ tags }) => tags[1]));
  assert.ok(rules.length >= 1300, `${rules.length} rules`);
  assert.ok(providers.size >= 950, `${providers.size} providers`);
  assert.deepEqual(warnings, []);
});

test('no secret includes what follows it: a pattern that looks at that has a group', () => {
  const ending = rules.filter(
    ({ regex, secret_group }) => secret_group === 0 && /\(\?:\[\^.*\]\|\$\)$/.test(regex ?? ''),
  );
  const isWhole = ({ regex }: Rule): boolean => !/(?:^|[^\\])\((?!\?)/.test(regex!);
  assert.deepEqual(
    ending.filter(isWhole).map(({ id }) => id),
    [],
  );
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

/** Rules with an exception of their own that takes long; of the exceptions that many rules share, none may. */
const SLOW_MAX = 2;

test('the exceptions that many rules share are searched by the native engine', () => {
  const lists = rules.filter(({ regex }) => regex !== undefined).flatMap((rule) => compileRule(rule).allowlists);
  const slow = lists.flatMap(({ paths, regexes }) => [...paths, ...regexes].filter(({ source }) => source === null));
  const often = [...Map.groupBy(slow, ({ pattern }) => pattern)].filter(([, each]) => each.length > SLOW_MAX);
  assert.deepEqual(
    often.map(([pattern]) => pattern),
    [],
  );
});

/** Tokens without a prefix of four characters whose first literal is still rare in text. */
const KEYWORD_LENGTH_MIN = 3;

test('each rule is tried only close to one of its literals', () => {
  // A rule without a pattern looks at paths alone.
  const withPattern = rules.filter(({ regex }) => regex !== undefined);
  const elsewhere = withPattern.map(compileRule).filter(({ placement }) => placement.type !== 'anchored');
  assert.deepEqual(
    elsewhere.map(({ rule }) => rule.id),
    [],
  );
  const short = rules.filter(({ keywords }) => keywords.some(({ length }) => length < KEYWORD_LENGTH_MIN));
  assert.deepEqual(
    short.map(({ id }) => id),
    [],
  );
  // In UTF-8, capitals of other alphabets are bytes like any others.
  const unmatched = rules.filter(({ keywords }) => keywords.some((word) => /[A-Z]/.test(word)));
  assert.deepEqual(unmatched, []);
});
