import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { CommandDirectory } from '../support/command-directory.ts';

const RULES = `
[[rules]]
id = "key"
description = "Found a key | of Acme."
regex = '''mkey_[a-z0-9]{12}'''
keywords = ["mkey_"]

[[rules]]
id = "unsure"
description = "Found something."
regex = '''ukey_[a-z0-9]{12}'''
keywords = ["ukey_"]
confidence = "medium"
`;

const ONE = ['mkey', 'a1b2c3d4e5f6'].join('_');
const UNSURE = ['ukey', 'z9y8x7w6v5u4'].join('_');
const RULES_FLAG = ['--rules', 'rules.toml'];

/** The first example of the page. */
const example = /```liquid\n([\s\S]*?)```/.exec(
  readFileSync(join(import.meta.dirname, '../../../../docs/scanning/templates.md'), 'utf8'),
)![1]!;

test('the example of the page writes a table, whatever names and rules contain', async (t) => {
  const directory = new CommandDirectory(t, {
    'rules.toml': RULES,
    'comment.md': example,
    'src/a`|b.env': `${UNSURE}\n${ONE}\n`,
    'src/b.env': `${ONE}\n${ONE}\n${ONE}\n`,
    'clean/a.txt': 'nothing\n',
  });
  const { code, stdout } = await directory.scan('src', ...RULES_FLAG, '--template', 'comment.md');
  assert.equal(code, 1);
  assert.equal(
    stdout,
    [
      '**2 secrets in 5 places**',
      '',
      '| place | what | secret | confidence |',
      '| --- | --- | --- | --- |',
      '| `` src/a`\\|b.env:2 ``, `src/b.env:1`, `src/b.env:2` and more | Found a key &#124; of Acme. | `mke***` | high |',
      '| `` src/a`\\|b.env:1 `` | Found something. | `uke***` | medium |',
      '',
    ].join('\n'),
  );
  const clean = await directory.scan('clean', ...RULES_FLAG, '--template', 'comment.md');
  assert.deepEqual([clean.code, clean.stdout.trim()], [0, 'No secrets were found. Files scanned: 1.']);
});

test('the extension decides about escaping, and a template may be one report of several', async (t) => {
  const text = '{% for each in secrets %}{{ each.path }} {{ each.path | raw }};{% endfor %}';
  const directory = new CommandDirectory(t, {
    'rules.toml': RULES,
    'list.html.liquid': text,
    'list.txt': text,
    'src/<b>.env': `${ONE}\n`,
  });
  const html = await directory.scan(
    ...['src', ...RULES_FLAG, '--template', 'list.html.liquid', '--report', 'template=out.html', '--json'],
  );
  assert.equal(html.json.at(-1)!['type'], 'summary');
  assert.equal(readFileSync(directory.at('out.html'), 'utf8'), 'src/&lt;b&gt;.env src/<b>.env;');
  const plain = await directory.scan('src', ...RULES_FLAG, '--template', 'list.txt', '--quiet');
  assert.equal(plain.stdout, 'src/<b>.env src/<b>.env;');
});

test('a fault is named with its line before anything is scanned, and nothing but the data can be read', async (t) => {
  const directory = new CommandDirectory(t, { 'rules.toml': RULES, 'other.txt': 'other', 'a.env': `${ONE}\n` });
  const faults: [string, RegExp][] = [
    ['one\n{% for each in secrets %}\n{{ each.rule }}{% endfor %}', /line 3, column 4: undefined variable: each\.rule/],
    ['{% if summary.secrets %}', /line 1, column 1: tag .* not closed/],
    ['\n{{ summary.secrets | shell }}', /line 2, column \d+: undefined filter: shell/],
    ['{% include "other.txt" %}', /line 1, column 1: .*other\.txt/],
    ['{% render "/etc/hostname" %}', /line 1, column 1: /],
    ['{{ secrets.constructor }}', /undefined variable: secrets\.constructor/],
    ['{{ secrets[0].path }}', /undefined variable/],
    ['{% for i in (1..1000000000) %}x{% endfor %}', /memory alloc limit exceeded/],
    ['x'.repeat(100_001), /has 100001 characters; at most 100000 are allowed/],
  ];
  for (const [template, message] of faults) {
    directory.write('t.txt', template);
    const { code, stdout, stderr } = await directory.scan('a.env', ...RULES_FLAG, '--template', 't.txt');
    assert.deepEqual([code, stdout], [2, ''], template.slice(0, 80));
    assert.match(stderr, /^error\[USAGE\]: --template t\.txt/);
    assert.match(stderr, message);
  }
  const missing = await directory.scan('a.env', ...RULES_FLAG, '--report', 'template=out.txt');
  assert.equal(missing.stderr, 'error[USAGE]: the format template needs --template FILE\n');
});
