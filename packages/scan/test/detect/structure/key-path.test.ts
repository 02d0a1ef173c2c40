import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import fc from 'fast-check';
import { detectorOf, scanObject } from '../../support/detect/fixture.ts';

/** In two parts, so that no scanner takes it for a real one. */
const TOKEN = ['mut', 'k3v9xq2m7r'].join('_');
const RULE = `[[rules]]\nid = "made-up"\nregex = '''mut_[a-z0-9]{10}'''\nkeywords = ["mut_"]\n`;
const detector = detectorOf(RULE);

/** Path and name of the only finding in a text. */
function keyIn(path: string, text: string): [string | undefined, string | undefined] {
  const found = scanObject(detector, text, { path });
  assert.equal(found.length, 1, text);
  return [found[0]!.key_path, found[0]!.key_name];
}

const FILES: Readonly<Record<string, [path: string, text: string, keyPath: string, name?: string]>> = {
  'JSON: nested objects and lists': [
    'a.json',
    `{"other": {"x": [1, {"y": "}"}]}, "list": [{"a": "b, c"}, {"deep": {"key": "${TOKEN}"}}]}`,
    'list[1].deep.key',
  ],
  'JSON: within a longer string': ['a.json', `{"url": "https://host/?t=${TOKEN}&x=\\"1\\""}`, 'url'],
  'JSON: named by a sibling before it': [
    'task.json',
    `{"environment": [{"name": "A", "value": "b"}, {"name": "API_TOKEN", "value": "${TOKEN}"}]}`,
    'environment[1].value',
    'API_TOKEN',
  ],
  'JSON: named by a sibling after it': [
    'a.json',
    `[{"value": "${TOKEN}", "key": "API_TOKEN"}]`,
    '[0].value',
    'API_TOKEN',
  ],
  'YAML: maps, lists and comments': [
    'a.yml',
    `spec:\n  # of the shop\n  env:\n    - name: A\n      value: b\n\n    - name: API_TOKEN\n      value: ${TOKEN}\n`,
    'spec.env[1].value',
    'API_TOKEN',
  ],
  'YAML: a list as far left as its key': ['a.yaml', `env:\n- b: 1\n- token: "${TOKEN}"\n`, 'env[1].token'],
  'YAML: the name follows the value': [
    'a.yaml',
    `env:\n  - value: ${TOKEN}\n    name: API_TOKEN\n`,
    'env[0].value',
    'API_TOKEN',
  ],
  'YAML: a block of several lines': [
    'a.yaml',
    `data:\n  script: |\n    first\n    export X=${TOKEN}\n  other: 1\n`,
    'data.script',
  ],
  'YAML: only its own document': ['a.yaml', `first:\n  a: 1\n---\nsecond:\n  b: ${TOKEN}\n`, 'second.b'],
  'YAML: a template': ['values.yaml.j2', `db:\n  token: ${TOKEN}\n`, 'db.token'],
  'Compose: variables in a list': [
    'compose.yml',
    `services:\n  db:\n    environment:\n      - DB_TOKEN=${TOKEN}\n`,
    'services.db.environment[0]',
  ],
  'YAML: braces on one line': [
    'a.yaml',
    `spec:\n  env:\n    - {name: A, value: b}\n    - {name: API_TOKEN, value: "${TOKEN}"}\n`,
    'spec.env[1].value',
    'API_TOKEN',
  ],
  'YAML: the name follows the value, in braces': [
    'a.yaml',
    `env: [{value: b, name: A}, {value: ${TOKEN}, name: API_TOKEN}]\n`,
    'env[1].value',
    'API_TOKEN',
  ],
  'YAML: brackets and braces in strings': [
    'a.yaml',
    `run:\n  command: ["a{", 'b[', --token, "${TOKEN}"]\n`,
    'run.command[3]',
  ],
  'YAML: single quotes': ['a.yaml', `db: {user: 'it"s', token: '${TOKEN}'}\n`, 'db.token'],
  'YAML: no collection': ['a.yaml', `note: it is [open, token ${TOKEN}\n`, 'note'],
  'TOML: inline tables': ['a.toml', `[db]\nkeys = { first = "a=b", token = "${TOKEN}" }\n`, 'db.keys.token'],
  'TOML: arrays on one line': ['a.toml', `[db]\ntokens = ["a", "${TOKEN}"]\n`, 'db.tokens[1]'],
  'an environment file with JSON': ['.env', `A=b\nCONFIG={"db": {"token": "${TOKEN}"}}\n`, 'CONFIG.db.token'],
  'TOML: sections': ['a.toml', `[first]\na = 1\n[server.db]\ntoken = "${TOKEN}" # note\n`, 'server.db.token'],
  'INI: sections': ['a.ini', `[mail]\nuser = x\ntoken=${TOKEN}\n`, 'mail.token'],
  'environment files': ['.env.production', `A=b\nexport API_TOKEN=${TOKEN}\n`, 'API_TOKEN'],
  properties: ['app.properties', `spring.datasource.token = ${TOKEN}\n`, 'spring.datasource.token'],
  'XML: attributes': [
    'web.config',
    `<a><b x="1"/><add key="ApiToken" value="${TOKEN}"/></a>`,
    'a.add@value',
    'ApiToken',
  ],
  'XML: elements': ['a.xml', `<a><b>x</b><c><token>${TOKEN}</token></c></a>`, 'a.c.token'],
  'XML: a named element': [
    'strings.xml',
    `<resources><string name="api_token">${TOKEN}</string></resources>`,
    'resources.string',
    'api_token',
  ],
  'XML: a property list': [
    'Info.plist',
    `<dict><key>ApiToken</key>\n<string>${TOKEN}</string></dict>`,
    'dict.string',
    'ApiToken',
  ],
  'Terraform: blocks': [
    'main.tf',
    `resource "shop" "main" {\n  tags = {\n    a = "b"\n  }\n  token = "${TOKEN}"\n}\n`,
    'resource.shop.main.token',
  ],
};

describe('a finding in a structured file says the keys that lead to it', () => {
  for (const [title, [path, text, keyPath, name]] of Object.entries(FILES))
    test(title, () => assert.deepEqual(keyIn(path, text), [keyPath, name]));
});

test('encoded text has the keys of what encodes it', () => {
  const encoded = Buffer.from(`password is ${TOKEN} here`).toString('base64');
  const [found] = scanObject(detector, `data:\n  shop: ${encoded}\n`, { path: 'secret.yaml' });
  assert.deepEqual([found!.key_path, found!.encodings], ['data.shop', ['base64']]);
});

test('text without structure has no keys', () => {
  assert.deepEqual(keyIn('a.ts', `const token = "${TOKEN}";`), [undefined, undefined]);
});

test('keys farther away than the bytes that are read are left out, and marked', () => {
  const filler = '  x: "0123456789"\n'.repeat(400);
  assert.deepEqual(keyIn('a.yaml', `top:\n${filler}  token: ${TOKEN}\n`), ['….token', undefined]);
});

const pieces = fc.constantFrom(
  ...['{', '}', '[', ']', '"a": ', '"name": "N", ', '"value": ', ', ', '"', '\\"', ':', '\n', '  ', '    ', '- '],
  ...['key:\n', 'a: 1\n', 'name: N\n', '<a>', '</a>', '<b k="v" ', '/>', '[s]\n', 'x = ', 'b {\n', '---\n', 'é', '\0'],
  TOKEN,
  ` ${TOKEN} `,
);

test('keys do not depend on the chunks, whatever the text', () => {
  fc.assert(
    fc.property(
      fc.array(pieces, { maxLength: 400 }),
      fc.constantFrom('a.json', 'a.yaml', 'a.toml', 'a.xml', 'a.tf'),
      fc.integer({ min: 50, max: 3000 }),
      (parts, path, chunkBytes) => {
        const text = parts.join('');
        assert.deepEqual(scanObject(detector, text, { path, chunkBytes }), scanObject(detector, text, { path }));
      },
    ),
    { numRuns: 150 },
  );
});

test('keys are read as UTF-8', () => {
  assert.deepEqual(keyIn('a.json', `{"grüße": {"schlüssel": "${TOKEN}"}}`), ['grüße.schlüssel', undefined]);
});
