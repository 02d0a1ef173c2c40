import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { HeddleError } from '@heddle/base/errors';
import { builtinRuleTexts } from '../../../src/detect/rules/builtin.ts';
import { compileRule } from '../../../src/detect/rules/compile-rule.ts';
import { extendedPath, loadRules } from '../../../src/detect/rules/load-rules.ts';

const load = (...tomls: string[]) =>
  loadRules({ rules: tomls.map((toml, at) => ({ name: `rules-${at + 1}.toml`, toml })) });

const PAGE = join(import.meta.dirname, '../../../../../docs/scanning/rules.md');

const RULE = `
[[rules]]
id = "one"
description = "first"
regex = '''one_([a-z]+)'''
secretGroup = 1
entropy = 2.5
keywords = ["ONE_"]
tags = ["a"]
`;

test('reads all fields of a rule', () => {
  const set =
    load(`title = "mine"\nminVersion = "8.0.0"\n${RULE}confidence = "low"\njudged = true\njudgedAs = "password"\npath = '''\\.env$'''
[[rules.allowlists]]
description = "examples"
condition = "AND"
regexTarget = "line"
regexes = ['''example''']
stopWords = ["Dummy"]
commits = ["ABC"]
paths = ['''test/''']
[[rules.required]]
id = "one"
withinLines = 3
withinColumns = 40
`);
  assert.deepEqual(set.warnings, []);
  assert.deepEqual(set.rules, [
    {
      id: 'one',
      description: 'first',
      tags: ['a'],
      keywords: ['one_'],
      regex: 'one_([a-z]+)',
      path: '\\.env$',
      secret_group: 1,
      entropy: 2.5,
      confidence: 'low',
      judged: true,
      judged_as: 'password',
      allowlists: [
        {
          description: 'examples',
          condition: 'all',
          commits: ['abc'],
          paths: ['test/'],
          regexes: ['example'],
          regex_target: 'line',
          stopwords: ['dummy'],
        },
      ],
      required: [{ id: 'one', within_lines: 3, within_columns: 40 }],
      skip_report: false,
      source: 'rules-1.toml',
    },
  ]);
});

test('field names are case-insensitive; unknown ones are reported', () => {
  const set = load(`${RULE}shape = true\n[extra]\nx = 1\n`.replace('secretGroup', 'secretgroup'));
  assert.equal(set.rules[0]?.secret_group, 1);
  assert.deepEqual(set.warnings, [
    'rules-1.toml: rule one: unknown field shape ignored',
    'rules-1.toml: unknown field extra ignored',
  ]);
});

test('a later file overrides its fields, and adds keywords, tags and allow lists', () => {
  const set = load(
    RULE,
    `[extend]\ndisabledRules = ["none"]\n[[rules]]\nid = "one"\nentropy = 4\nkeywords = ["uno"]\ntags = ["b"]\n[[rules]]\nid = "two"\nregex = "two_x"\n`,
  );
  const [one, two] = set.rules;
  assert.equal(one?.description, 'first');
  assert.equal(one.entropy, 4);
  assert.deepEqual(one.keywords, ['one_', 'uno']);
  assert.deepEqual(one.tags, ['a', 'b']);
  assert.equal(two?.id, 'two');
  assert.match(set.warnings.join(), /disabledRules names none/);
});

test('disabledRules removes rules of earlier files', () => {
  const set = load(RULE, `[extend]\ndisabledRules = ["one"]\n[[rules]]\nid = "two"\nregex = "two_x"\n`);
  assert.deepEqual(
    set.rules.map(({ id }) => id),
    ['two'],
  );
});

test('useDefault adds the built-in rules; without any file they are the rules', () => {
  const own = loadRules({ rules: [] }).rules.length;
  assert.ok(own > 100);
  assert.equal(load(`[extend]\nuseDefault = true\n${RULE}`).rules.length, own + 1);
  assert.ok(builtinRuleTexts().length > 1);
});

test('an extended path is returned to the caller, which loads that file first', () => {
  const toml = `[extend]\npath = "base.toml"\n${RULE}`;
  assert.equal(extendedPath({ name: 'x', toml }), 'base.toml');
  assert.throws(() => load(toml), /extends base.toml, which was not given/);
  assert.equal(load('[[rules]]\nid = "base"\nregex = "base"\n', toml).rules.length, 2);
});

test('allow lists with targetRules apply to those rules, the others to all', () => {
  const set = load(`${RULE}[[allowlists]]\ntargetRules = ["one"]\nstopwords = ["x"]\n[[allowlists]]\npaths = ["y"]\n`);
  assert.equal(set.rules[0]?.allowlists[0]?.stopwords[0], 'x');
  assert.equal(set.allowlists.length, 1);
  assert.equal(load(`[allowlist]\npaths = ["y"]\n${RULE}`).allowlists.length, 1);
});

test('enable and disable select by id; rules that a selected one requires are kept, unreported', () => {
  const toml = `${RULE}[[rules.required]]\nid = "two"\n[[rules]]\nid = "two"\nregex = "two"\n[[rules]]\nid = "three"\nregex = "three"\n`;
  const rules = [{ name: 'r', toml }];
  assert.deepEqual(
    loadRules({ rules, enable: ['one'] }).rules.map(({ id, skip_report }) => [id, skip_report]),
    [
      ['one', false],
      ['two', true],
    ],
  );
  assert.deepEqual(
    loadRules({ rules, disable: ['one', 'two'] }).rules.map(({ id }) => id),
    ['three'],
  );
  assert.throws(() => loadRules({ rules, enable: ['nope'] }), /no rule nope/);
});

const REFUSED: readonly [string, RegExp][] = [
  ['[[rules', /rules-1.toml: it is not valid TOML/],
  ['[[rules]]\nregex = "x"', /rule 1: it has no id; write id/],
  ['[[rules]]\nid = "a"', /rule a: it has neither regex nor path/],
  ['[[rules]]\nid = "a"\nregex = 3', /rule a: regex must be a string; write regex = /],
  ['[[rules]]\nid = "a"\nregex = "x"\nkeywords = "x"', /rule a: keywords must be a list of strings/],
  ['[[rules]]\nid = "a"\nregex = "x"\nkeywords = [""]', /rule a: one of its keywords is empty/],
  ['[[rules]]\nid = "a"\nregex = "x"\nentropy = "high"', /rule a: entropy must be a number/],
  ['[[rules]]\nid = "a"\nregex = "x"\nsecretGroup = 1.5', /rule a: secretGroup must be a whole number/],
  [`${RULE}${RULE}`, /rule one: two rules have this id/],
  [`${RULE}[[rules.allowlists]]\ncondition = "XOR"\npaths = ["x"]`, /rule one: allow list 1: condition must be/],
  [`${RULE}[[rules.allowlists]]\nregexTarget = "file"\npaths = ["x"]`, /regexTarget must be/],
  [`${RULE}[[rules.allowlists]]\ndescription = "none"`, /it is empty/],
  [`${RULE}[rules.allowlist]\npaths = ["x"]\n[[rules.allowlists]]\npaths = ["x"]`, /both \[allowlist\] and/],
  [`${RULE}[[rules.required]]\nid = "nope"`, /rule one: it requires nope, which is not a rule/],
  [`${RULE}[[allowlists]]\ntargetRules = ["nope"]\npaths = ["x"]`, /targetRules of an allow list names nope/],
  [`[extend]\nuseDefault = true\npath = "x"\n${RULE}`, /both useDefault and path/],
];

for (const [toml, message] of REFUSED) {
  test(`rejected: ${message.source}`, () => {
    assert.throws(
      () => load(toml),
      (error: unknown) =>
        error instanceof HeddleError && error.code === 'VALIDATION_FAILED' && message.test(error.message),
    );
  });
}

test('an unusable pattern is rejected with rule, field, reason and position', () => {
  const compile = (toml: string) => load(toml).rules.map(compileRule);
  assert.throws(
    () => compile(`[[rules]]\nid = "a"\nregex = '''x(?=y)'''`),
    /rules-1.toml: rule a: regex: lookahead is not supported.*at position 1: \(\?=y\)/,
  );
  assert.throws(() => compile(`[[rules]]\nid = "a"\nregex = "x"\npath = "["`), /rule a: path: a class is not closed/);
  assert.throws(
    () => compile(`${RULE}[[rules.allowlists]]\nregexes = ["(a)\\\\1"]`),
    /rule one: regexes of an allow list: a backreference/,
  );
  assert.throws(
    () => compile(RULE.replace('secretGroup = 1', 'secretGroup = 2')),
    /secretGroup is 2, but its regex has 1/,
  );
});

test('the example in the documentation is valid and uses only known fields and rules', () => {
  const toml = /```toml\n([^`]*?)```/.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? '';
  const set = load(toml);
  assert.deepEqual(set.warnings, []);
  const rule = set.rules.find(({ id }) => id === 'acme-api-key');
  assert.equal(rule?.allowlists[0]?.stopwords[0], 'example');
  assert.equal(compileRule(rule).placement.type, 'anchored');
});
