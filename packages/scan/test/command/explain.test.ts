import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { CommandDirectory } from '../support/command-directory.ts';

/** Made up, and in pieces, so that no scanner mistakes it for a real one. */
const PASSWORD = ['Xk9mQ2vL', '7pR4tZw'].join('');

interface Match {
  rule_id: string;
  outcome: string;
  reason: string;
  secret: string;
  confidence: string | null;
  encodings: string[];
  fingerprint: string | null;
  judge: { score: number } | null;
}

interface Explained {
  path: string;
  line: number;
  text: string | null;
  obstacles: string[];
  matches: Match[];
  keywords: { rule_id: string; applies: boolean }[];
  decoded: { encodings: string[]; text: string }[];
  next: string[];
  example_rule: string | null;
}

/** One line for each way in which a match can end. */
const RULES = `
[[rules]]
id = "plain"
regex = '''plain_[a-z0-9]{8}'''
keywords = ["plain_"]
entropy = 2

[[rules.allowlists]]
description = "the manual"
stopwords = ["example"]

[[rules]]
id = "generic-plain"
regex = '''[a-z]+_[a-z0-9]{8}'''
keywords = ["plain_"]

[[rules]]
id = "only-yaml"
regex = '''yaml_[0-9]{6}'''
keywords = ["yaml_"]
path = '''\\.yml$'''

[[rules]]
id = "pair"
regex = '''pair_[0-9]{6}'''
keywords = ["pair_"]
[[rules.required]]
id = "helper"
withinLines = 1

[[rules]]
id = "helper"
regex = '''helper_[0-9]{6}'''
keywords = ["helper_"]
skipReport = true

[[rules]]
id = "weak"
regex = '''weak_[0-9]{6}'''
keywords = ["weak_"]
confidence = "low"

[[allowlists]]
regexTarget = "line"
regexes = ['''^# generated''']
`;

const LINES = [
  'a = plain_k3q9x7w2',
  'b = plain_aaaaaaaa',
  'c = plain_example1',
  '# generated plain_k3q9x7w3',
  'd = plain_k3q9x7w4 # heddle:allow',
  'e = yaml_123456',
  'f = pair_123456',
  '',
  '',
  'g = helper_123456',
  'h = weak_123456',
  'i = plain_k3q9x7w5',
  'j = plain_k3q9x7w6',
  'k = plain_nothing',
];

async function explain(directory: CommandDirectory, ...args: string[]): Promise<Explained> {
  const { code, stdout, stderr } = await directory.scan('explain', ...args, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Explained;
}

const outcomes = ({ matches }: Explained): string[] => matches.map(({ rule_id, outcome }) => `${rule_id} ${outcome}`);

test('each way in which a match can end is named, with what decided', async (t) => {
  const directory = new CommandDirectory(t, { 'rules.toml': RULES, 'a.txt': `${LINES.join('\n')}\n` });
  const found = await directory.scan('a.txt', '--rules', 'rules.toml', '--json');
  const fingerprints = found.json.filter(({ line }) => line === 12 || line === 13);
  const [suppressed, known] = fingerprints.map(({ fingerprint }) => String(fingerprint));
  directory.write('ignored', `${suppressed}\n`);
  directory.write('known.json', `{"heddle_baseline":1,"findings":[{"fingerprint":"${known}","count":1}]}`);
  const of = (line: number): Promise<Explained> =>
    explain(
      directory,
      `a.txt:${line}`,
      ...['--rules', 'rules.toml', '--ignore-file', 'ignored', '--baseline', 'known.json'],
    );
  const expected: [number, string[], RegExp][] = [
    [1, ['plain reported', 'generic-plain other_rule'], /the value itself has the form/],
    [2, ['generic-plain reported', 'plain entropy'], /entropy of 1\.\d\d .* does not exceed the 2/],
    [3, ['generic-plain reported', 'plain allow_list'], /the allow list "the manual" \(stopword "example"\)/],
    [4, ['plain allow_list', 'generic-plain allow_list'], /the allow list \(pattern of the line \^# generated\)/],
    [5, ['plain inline_comment', 'generic-plain inline_comment'], /heddle:allow/],
    [7, ['pair required_rule'], /helper, which it requires, found nothing near/],
    [10, ['helper skip_report'], /skipReport/],
    [11, ['weak below_confidence'], /the rule sets it/],
    [12, ['plain ignored', 'generic-plain other_rule'], /a list of fingerprints suppresses it/],
    [13, ['plain known', 'generic-plain other_rule'], /the baseline lists it/],
  ];
  for (const [line, matches, reason] of expected) {
    const explained = await of(line);
    assert.deepEqual(outcomes(explained).toSorted(), matches.toSorted(), `line ${line}`);
    assert.ok(
      explained.matches.some((match) => reason.test(match.reason)),
      JSON.stringify(explained.matches),
    );
  }
  const elsewhere = await of(6);
  assert.deepEqual(elsewhere.keywords, [{ rule_id: 'only-yaml', keyword: 'yaml_', encodings: [], applies: false }]);
  const near = await of(14);
  assert.deepEqual(outcomes(near), []);
  assert.deepEqual(near.keywords.map(({ rule_id, applies }) => [rule_id, applies]).toSorted(), [
    ['generic-plain', true],
    ['plain', true],
  ]);
});

test('a judged match has its score, and no secret is printed unless it was asked for', async (t) => {
  const directory = new CommandDirectory(t, { 'app.env': `LOG=info\nDB_PASSWORD=${PASSWORD}\n` });
  const shown = await directory.scan('explain', './app.env:2');
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(
    shown.stdout,
    /^app\.env:2\n {2}DB_PASSWORD=Xk9\*\*\*\n✖ generic-\S+: reported \((?:medium|high) confidence\)$/m,
  );
  assert.match(
    shown.stdout,
    /^ {4}score +(?:0\.9\d|1\.00) of 1 \(low from 0\.3, medium from 0\.8, high from 0\.985\)$/m,
  );
  assert.match(shown.stdout, /^ {4}for +the name DB_PASSWORD: without it 0\.\d\d$/m);
  assert.ok(!shown.stdout.includes(PASSWORD) && !shown.stdout.includes(PASSWORD.slice(4)));
  const unredacted = await directory.scan('explain', 'app.env:2', '--show-secrets');
  assert.ok(unredacted.stdout.includes(`DB_PASSWORD=${PASSWORD}`));
});

test('a miss says so and shows a rule, which finds it', async (t) => {
  const secret = ['itok', 'k3Vq8ZtB5xWm2RfJ9cLd7Hn4'].join('-');
  const directory = new CommandDirectory(t, { 'app.conf': `first\ngateway ${secret}\nlast line` });
  const shown = await directory.scan('explain', 'app.conf:2');
  assert.match(shown.stdout, /^ {2}gateway itok\*\*\*$/m);
  assert.match(shown.stdout, /^No rule matches on this line\.$/m);
  assert.match(shown.stdout, /^next: if it is a secret, add a rule/m);
  assert.ok(!shown.stdout.includes(secret));
  const missed = await explain(directory, 'app.conf:2');
  assert.deepEqual(missed.matches, []);
  directory.write('.heddle-scan.toml', missed.example_rule!);
  const found = await directory.scan('.', '--json');
  assert.deepEqual(
    found.json.filter(({ type }) => type === 'finding').map(({ rule_id, line }) => [rule_id, line]),
    [['our-itok', 2]],
  );
  assert.deepEqual(outcomes(await explain(directory, 'app.conf:2')), ['our-itok reported']);
  assert.equal((await explain(directory, 'app.conf:3')).text, 'last line');
  assert.deepEqual((await explain(directory, 'app.conf:4')).obstacles, ['it has 3 lines, not 4']);
  directory.write('one.conf', 'a = 1\n');
  assert.deepEqual((await explain(directory, 'one.conf:2')).obstacles, ['it has 1 line, not 2']);
});

test('a line is explained alike wherever it is: in any chunk, encoded, in an archive', async (t) => {
  const line = `x = plain_k3q9x7w2`;
  const before = 'word '.repeat(15);
  const text = `${Array.from({ length: 2000 }, () => before).join('\n')}\n${line}\n${before}\n`;
  const directory = new CommandDirectory(t, {
    'rules.toml': RULES,
    'large.txt': text,
    'wide.txt': Buffer.from(`\ufeffone\r\n${line}\r\n`, 'utf16le'),
    'packed.gz': gzipSync(`one\n${line}\n`),
    'encoded.txt': `one\n${Buffer.from(`some text and ${line} and more text`).toString('base64')}\n`,
  });
  const rules = ['--rules', 'rules.toml', '--disable', 'generic-plain'];
  for (const place of ['large.txt:2001', 'wide.txt:2', 'packed.gz!packed:2', 'encoded.txt:2']) {
    for (const chunk of place.startsWith('large') ? ['4k', '512k'] : ['512k']) {
      const explained = await explain(directory, place, ...rules, '--chunk-size', chunk);
      assert.deepEqual(outcomes(explained), ['plain reported'], `${place} in chunks of ${chunk}`);
      if (!place.startsWith('encoded')) assert.equal(explained.text, 'x = pl***', place);
      assert.ok(!JSON.stringify(explained).includes('k3q9x7w2'));
    }
  }
  const encoded = await explain(directory, 'encoded.txt:2', ...rules);
  assert.deepEqual(encoded.decoded, [{ encodings: ['base64'], text: 'some text and x = pl*** and more text' }]);
  const archive = await explain(directory, 'packed.gz:2', ...rules);
  assert.match(archive.obstacles.join(), /it is an archive \(name an entry/);
  const missing = await explain(directory, 'packed.gz!other:1', ...rules);
  assert.deepEqual(missing.obstacles, [
    'no entry of this name was scanned: check the name, or whether any rule applies to its path',
  ]);
});

test('what keeps a file out of a scan is named', async (t) => {
  const directory = new CommandDirectory(t, {
    'rules.toml': `${RULES}\n[[allowlists]]\npaths = ['''^vendor/''']\n`,
    'vendor/a.txt': 'a = plain_k3q9x7w2\n',
    'src/a.txt': `a = plain_k3q9x7w2\n${'x'.repeat(5000)}\n`,
  });
  const rules = ['--rules', 'rules.toml'];
  assert.deepEqual((await explain(directory, 'vendor/a.txt:1', ...rules)).obstacles, [
    'an allow list of the rules exempts the whole file',
  ]);
  const filters = ['--exclude', 'src', '--include', '*.md', '--max-object-size', '4k'];
  const [excluded, notIncluded, large] = (await explain(directory, 'src/a.txt:1', ...rules, ...filters)).obstacles;
  assert.equal(excluded, '--exclude src leaves it out of the scan');
  assert.equal(notIncluded, 'no --include selects it: *.md');
  assert.match(large!, /^src\/a\.txt: it holds 4\.9 KiB, more than 4 KiB$/);
  assert.equal((await explain(directory, 'src/a.txt:1', ...rules)).obstacles.length, 0);
});

test('a fingerprint is found in the working directory, in a report, in a baseline and in a history', async (t) => {
  const directory = new CommandDirectory(t, { 'rules.toml': RULES, 'src/a.txt': 'one\nb = plain_k3q9x7w2\n' });
  const rules = ['--rules', 'rules.toml'];
  const found = await directory.scan(
    'src',
    ...rules,
    '--json',
    '--output',
    'report.jsonl',
    '--write-baseline',
    'known.json',
  );
  assert.equal(found.code, 1, found.stderr);
  const direct = await directory.scan('src', ...rules, '--json');
  const { fingerprint } = direct.json.find(({ type }) => type === 'finding')! as { fingerprint: string };
  for (const from of [[], ['--from-report', 'report.jsonl'], ['--from-report', 'known.json']]) {
    const explained = await explain(directory, fingerprint, 'src', ...rules, ...from);
    assert.deepEqual([explained.path, explained.line, outcomes(explained)], ['src/a.txt', 2, ['plain reported']]);
    assert.equal(explained.matches[0]!.fingerprint, fingerprint);
  }
  commit(directory);
  const inHistory = await directory.scan('--git', '.', ...rules, '--json');
  const old = inHistory.json.find(({ type }) => type === 'finding')! as { fingerprint: string; path: string };
  const explained = await explain(directory, old.fingerprint, '--git', '.', ...rules);
  assert.deepEqual([explained.path, outcomes(explained)], [old.path, ['plain reported']]);
});

function commit(directory: CommandDirectory): void {
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', directory.path, '-c', 'user.name=T', '-c', 'user.email=t@example.com', ...args]);
  git('init', '-q');
  git('add', 'src');
  git('commit', '-qm', 'first');
  directory.write('src/a.txt', 'one\n');
  git('commit', '-qam', 'second');
}

test('what cannot be explained is refused with what to do', async (t) => {
  const directory = new CommandDirectory(t, { 'a.txt': 'one\n', 'report.jsonl': '{"type":"summary"}\n' });
  const fingerprint = '0123456789abcdef0123456789abcdef';
  const refusals: [string[], RegExp][] = [
    [['a.txt'], /a\.txt: must be FILE:LINE/],
    [['a.txt:0'], /must be FILE:LINE with a line from 1/],
    [['b.txt:1'], /b\.txt: no such file; name it as the scan does/],
    [[fingerprint], /no finding in the working directory has this fingerprint; name the same paths/],
    [[fingerprint, '--from-report', 'report.jsonl'], /--from-report report\.jsonl: has no finding 0123/],
    [['a.txt:1', '--write-baseline', 'x'], /--write-baseline has no effect on an explanation/],
  ];
  for (const [args, message] of refusals) {
    const { code, stderr } = await directory.scan('explain', ...args);
    assert.deepEqual([code, message.test(stderr)], [2, true], stderr);
  }
});
