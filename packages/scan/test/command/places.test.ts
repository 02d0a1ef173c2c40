import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { CommandDirectory } from '../support/command-directory.ts';

const RULES = `
[[rules]]
id = "key"
description = "Found a key."
regex = '''mkey_[a-z0-9]{12}'''
keywords = ["mkey_"]

[[rules]]
id = "assigned-key"
description = "Found an assigned key."
regex = '''KEY=(mkey_[a-z0-9]{12})'''
keywords = ["mkey_"]
confidence = "medium"
`;

const ONE = ['mkey', 'a1b2c3d4e5f6'].join('_');
const OTHER = ['mkey', 'z9y8x7w6v5u4'].join('_');

test('one secret is one entry with its places in text and HTML, and a line for each place elsewhere', async (t) => {
  const directory = new CommandDirectory(t, {
    'rules.toml': RULES,
    'src/a.env': `KEY=${ONE}\n`,
    'src/b.env': `one\n${ONE} ${ONE}\n${OTHER}\n`,
    'src/c.gz': gzipSync(`KEY=${ONE}\n`),
  });
  const files = ['jsonl=r.jsonl', 'csv=r.csv', 'html=r.html', 'sarif=r.sarif', 'junit=r.xml'];
  const reports = files.flatMap((each) => ['--report', each]);
  const { code, stdout } = await directory.scan('src', '--rules', 'rules.toml', ...reports);
  const read = (name: string): string => readFileSync(directory.at(name), 'utf8');
  assert.equal(code, 1);
  assert.match(stdout, /^✖ 2 secrets in 5 places of 4 objects, /m);
  assert.equal(stdout.match(/^ {2}key {2}Found a key\. \(4 places\)$/gm)?.length, 1);
  assert.deepEqual(
    stdout.match(/also at +\S+ \S+/g)?.map((line) => line.replace(/ [0-9a-f]{32}$/, '')),
    ['also at     src/b.env:2:1', 'also at     src/b.env:2:19', 'also at     src/c.gz!c:1:5'],
  );

  const lines = read('r.jsonl')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const findings = lines.filter(({ type }) => type === 'finding');
  assert.deepEqual(
    findings.map(({ rule_id }) => rule_id),
    Array.from({ length: 5 }, () => 'key'),
    'the surer of two rules that find one value reports it',
  );
  const ids = findings.map(({ secret_id }) => secret_id);
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual([lines.at(-1)!['reported'], lines.at(-1)!['secrets']], [5, 2]);

  assert.deepEqual(
    read('r.csv')
      .trim()
      .split('\r\n')
      .slice(1)
      .map((row) => row.split(',').at(-1)),
    ids,
  );
  const html = read('r.html');
  assert.match(html, /<h1>2 secrets in 5 places found<\/h1>/);
  assert.match(html, /<h2>Revoke these first <span class="quiet">2 secrets of high confidence/);
  assert.deepEqual([html.match(/<article>/g)?.length, html.match(/<li>/g)?.length], [2, 3]);
  assert.match(html, /<p>In 4 places, also at:<\/p>/);

  const { runs } = JSON.parse(read('r.sarif')) as {
    runs: { results: { relatedLocations?: { physicalLocation: { artifactLocation: { uri: string } } }[] }[] }[];
  };
  assert.deepEqual(
    runs[0]!.results.map(({ relatedLocations: [first] = [] }) => first?.physicalLocation.artifactLocation.uri ?? null),
    [null, 'src/a.env', 'src/a.env', null, 'src/a.env'],
  );
  assert.equal(read('r.xml').match(/<testcase classname="src/g)?.length, 5);
});

test('secrets that occur once are counted as before', async (t) => {
  const directory = new CommandDirectory(t, { 'rules.toml': RULES, 'a.env': `${ONE}\n${OTHER}\n` });
  const { stdout } = await directory.scan('a.env', '--rules', 'rules.toml');
  assert.match(stdout, /^✖ 2 secrets in 1 object, /m);
  assert.doesNotMatch(stdout, /places|also at/);
});
