import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';

import { listRules, testRules } from '../../src/command/rule-listing.ts';
import { ruleChoiceOf, type RuleChoice } from '../../src/command/options.ts';
import { ruleSetOf, rulesOf } from '../../src/command/rules.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'heddle-rules-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const NONE = ruleChoiceOf({});
const OWN = "[[rules]]\nid = 'own'\nregex = '''own_[0-9]{8}'''\n";

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

function idsOf(choice: Partial<RuleChoice>, directories: string[] = []): string[] {
  return ruleSetOf({ ...NONE, ...choice }, directories, () => undefined).rules.map(({ id }) => id);
}

test('without files the built-in rules apply; a file replaces them unless it extends them', () => {
  const plain = write('plain.toml', OWN);
  const extending = write('extending.toml', `[extend]\nuseDefault = true\n${OWN}`);
  const builtin = idsOf({});
  assert.ok(builtin.length > 100);
  assert.deepEqual(idsOf({ ruleFiles: [plain] }), ['own']);
  assert.deepEqual(idsOf({ ruleFiles: [extending] }), [...builtin, 'own']);
  assert.deepEqual(idsOf({ ruleFiles: [plain], extendBuiltin: true }), [...builtin, 'own']);
  assert.deepEqual(idsOf({ ruleFiles: [extending], extendBuiltin: true }), [...builtin, 'own']);
  assert.deepEqual(idsOf({ ruleFiles: [extending], onlyRules: true }), ['own']);
  assert.throws(() => idsOf({ onlyRules: true }), /--only-rules needs --rules FILE/);
});

test('a file that extends another one follows it; cycles are rejected', () => {
  write('base.toml', "[[rules]]\nid = 'base'\nregex = '''b'''\n");
  const over = write('over.toml', `[extend]\npath = "base.toml"\n${OWN}`);
  assert.deepEqual(idsOf({ ruleFiles: [over] }), ['base', 'own']);
  write('one.toml', '[extend]\npath = "two.toml"\n');
  const two = write('two.toml', '[extend]\npath = "one.toml"\n');
  assert.throws(() => idsOf({ ruleFiles: [two] }), /forms a cycle/);
  const lost = write('lost.toml', '[extend]\npath = "nowhere.toml"\n');
  assert.throws(() => idsOf({ ruleFiles: [lost] }), /lost\.toml: \[extend\] path .*nowhere\.toml: no such file/);
});

test('a rule file in a directory applies, is reported, and is rejected with the option to ignore it', () => {
  const told: string[] = [];
  write('gitleaks.toml', "[[rules]]\nid = 'last'\nregex = '''l'''\n");
  write('.gitleaks.toml', OWN);
  assert.deepEqual(
    rulesOf(NONE, [directory], (text) => told.push(text)).map(({ name }) => name),
    [join(directory, '.gitleaks.toml')],
  );
  assert.match(told.join(), /rules: .*\.gitleaks\.toml \(--no-config ignores it\)/);
  assert.ok(idsOf({ discover: false }, [directory]).length > 100);
  write('.heddle-scan.toml', '[[rules]]\nid = 3\n');
  assert.throws(() => idsOf({}, [directory]), /\.heddle-scan\.toml: .*ignore it with --no-config/);
  const other = write('other.toml', OWN);
  assert.deepEqual(idsOf({ ruleFiles: [other] }, [directory]), ['own'], 'a file that is named goes before');
});

test('ignored fields are reported', () => {
  const told: string[] = [];
  const file = write('own.toml', `${OWN}colour = "red"\n`);
  rulesOf({ ...NONE, ruleFiles: [file] }, [], (text) => told.push(text));
  assert.match(told.join(), /warning: .*colour/);
});

test('a rule file in a directory does not say how secrets are verified; one that is named does', () => {
  const verify = `${OWN}[rules.verify]\nurl = "https://api.example.com/{{secret}}"\nactive = [200]\ninactive = [404]\n`;
  const path = write('.gitleaks.toml', verify);
  const notices: string[] = [];
  const [found] = ruleSetOf(NONE, [directory], (text) => notices.push(text)).rules;
  assert.equal(found!.verify, undefined);
  assert.match(notices.join('\n'), /\.gitleaks\.toml: its descriptions of verifications are ignored/);
  const [named] = ruleSetOf({ ...NONE, ruleFiles: [path] }, [], () => undefined).rules;
  assert.ok(typeof named!.verify === 'object');
  const broken = write('broken.toml', `${verify}companions = [{ name = "a", regex = '''(?=x)''' }]\n`);
  assert.match(testRules(broken).faults.join(), /rule own: verify: companions: a: character \d+: lookahead/);
});

test('rules are selected by name, and a wrong name gets a suggestion', () => {
  assert.deepEqual(idsOf({ enable: ['github-personal-access-token'] }), ['github-personal-access-token']);
  assert.equal(idsOf({ disable: ['github-personal-access-token'] }).includes('github-personal-access-token'), false);
  assert.throws(
    () => idsOf({ enable: ['github-personal-acess-token'] }),
    /did you mean "github-personal-access-token"/,
  );
  assert.throws(() => idsOf({ disable: ['zzzzzz'] }), /`heddle scan rules` lists all rules/);
  assert.equal(listRules({ ...NONE, enable: ['github-personal-access-token'] }, () => undefined).length, 1);
});

test('a check reports every invalid pattern with its position, in rules and allow lists', () => {
  const file = write(
    'bad.toml',
    "[[rules]]\nid = 'a'\nregex = '''x(?=y)'''\n[[rules.allowlists]]\npaths = ['''ok''', '''(''']\n" +
      "[[rules]]\nid = 'b'\nregex = '''fine'''\npath = '''*'''\n[[allowlists]]\nregexes = ['''\\1''']\n",
  );
  const { ok, faults, rules } = testRules(file);
  assert.deepEqual([ok, rules, faults.length], [false, 2, 4], faults.join('\n'));
  assert.match(faults[0]!, /rule a: regex: character \d+: .*; near "x\(\?=y\)"/);
  assert.match(faults[1]!, /rule a: allow list 1: paths\[1\]: character/);
  assert.match(faults[2]!, /rule b: path: character/);
  assert.match(faults[3]!, /bad\.toml: allow list 1: regexes\[0\]: character/);
});

test('missing files and invalid TOML are reported and never thrown', () => {
  mkdirSync(join(directory, 'folder'));
  const toml = write('toml.toml', 'a = = 1');
  assert.match(testRules(join(directory, 'folder')).faults.join(), /it is a directory/);
  assert.match(testRules(join(directory, 'none')).faults.join(), /no such file/);
  assert.match(testRules(toml).faults.join(), /not valid TOML/);
});

test('the list of rules names the verification of each', () => {
  const path = write('own.toml', `${OWN}verify = 'github'\n\n[[rules]]\nid = 'other'\nregex = '''other_[0-9]{8}'''\n`);
  const listed = listRules({ ...NONE, ruleFiles: [path] }, () => undefined);
  assert.deepEqual(
    listed.map(({ id, verification }) => [id, verification]),
    [
      ['own', 'github'],
      ['other', null],
    ],
  );
});
