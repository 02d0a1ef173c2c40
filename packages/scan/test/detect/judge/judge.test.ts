import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';
import { parseRegex } from '../../../src/detect/regex/parse.ts';
import { toJavaScript } from '../../../src/detect/regex/translate.ts';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';
import type { Detection } from '../../../src/detect/port.ts';
import { detectorOf, scanObject } from '../../support/detect/fixture.ts';
import { expandCase } from '../../support/detect/rules/case-text.ts';

const builtin = detectorOf();

function only(path: string, template: string): Detection | undefined {
  const { text } = expandCase({ path, text: template }, `${path} ${template}`);
  const found = scanObject(builtin, text, { path });
  assert.ok(found.length <= 1, text);
  return found[0];
}

test('an assignment says its name, and what its value looks like', () => {
  const found = only('deploy.env', 'SHOP_API_KEY={{hex:40}}\n')!;
  assert.equal(found.confidence, 'high');
  assert.equal(found.confidence_reason, 'assigned to the name SHOP_API_KEY; the value is 40 random hexadecimal digits');
  assert.equal(
    only('a.json', '{"clientSecret": "{{alnum:40}}"}')!.confidence_reason,
    'assigned to the name clientSecret; the value looks random',
  );
});

test('a reason never contains the secret', () => {
  for (const text of ['password = "{{alnum:14}}"', 'login(password, "{{alnum:14}}")', 'DB_PASSWORD={{alnum:14}}\n']) {
    const found = only('app.py', text);
    if (found !== undefined) assert.ok(!found.confidence_reason.includes(found.secret), found.confidence_reason);
  }
});

test('the same value is less certain where tests and translations are, and where its name says that it is none', () => {
  const order = ['low', 'medium', 'high'];
  const level = (path: string, text: string): number => order.indexOf(only(path, text)?.confidence ?? 'low');
  const text = 'password = "{{lower:6}}77"';
  assert.ok(level('config/app.ini', text) > level('test/fixtures/app.ini', text));
  assert.ok(level('app.yaml', 'api_token: {{alnum:32}}\n') > level('app.yaml', 'api_token_hash: {{alnum:32}}\n'));
  assert.ok(level('app.yaml', 'signing_key: {{hex:64}}\n') > level('app.yaml', 'cache_key: {{hex:64}}\n'));
});

test('a name says the same without anything between its words; one of a token against forged requests says so, too', () => {
  for (const name of ['SHOP_APITOKEN', 'GITHUBKEY', 'apisecret', 'clientsecret'])
    assert.notEqual(only('App.java', `String ${name} = "{{alnum:40}}";`)?.confidence ?? 'low', 'low', name);
  for (const name of ['csrf_token', 'csrftoken', 'XSRFTOKEN'])
    assert.equal(only('app.py', `${name} = "{{alnum:40}}"`)?.confidence ?? 'low', 'low', name);
});

test('in a line of a configuration file, every sign belongs to the value', () => {
  const texts = ['DB_PASSWORD={{alnum:5}}7&{{alnum:7}}', 'DB_PASSWORD={{alnum:4}}7;{{alnum:5}}&{{alnum:4}}'];
  for (const path of ['.env', '.env.production', 'app.properties'])
    for (const text of texts) {
      const found = only(path, `FIRST=1\n${text}\nLAST=2\n`);
      assert.match(found?.secret ?? '', /^[^=\n]+[&;][A-Za-z0-9]{4,}$/, `${path} ${text}`);
      assert.equal(found!.line, 2);
    }
  // In a shell, the command ends there.
  assert.match(only('run.sh', 'PASSWORD={{alnum:6}}7{{alnum:6}};export PASSWORD\n')?.secret ?? '', /^[A-Za-z0-9]{13}$/);
  // A comment assigns nothing, so that its signs are no torn value.
  assert.match(only('app.yaml', '# the password is {{alnum:6}}7&{{alnum:6}} now\n')!.secret, /&/);
  // In a URL, the next parameter begins.
  assert.match(
    only('.env', 'URL=https://a.test/?password={{alnum:6}}7{{alnum:6}}&user=me\n')!.secret,
    /^[A-Za-z0-9]{13}$/,
  );
});

test('actions and packages with their versions are no secrets, whatever the job is called', () => {
  const job =
    'jobs:\n  secrets:\n    steps:\n      - uses: actions/setup-node@v4\n      - uses: acme/tools/scan@8f4b7f84864484a7\n';
  assert.equal(only('.github/workflows/scan.yml', job), undefined);
});

test('digests that are named as such are no secrets', () => {
  assert.equal(only('.secrets.baseline', '{"hashed_secret": "{{hex:40}}"}'), undefined);
  assert.equal(only('app.yaml', 'token_sha256: {{hex:64}}\n'), undefined);
});

test('a name beside a value is its name, in text of any format', () => {
  for (const text of [
    '{"name": "SHOP_API_TOKEN", "value": "{{alnum:40}}"}',
    '<add key="ShopApiToken" value="{{alnum:40}}" />',
    '- name: SHOP_API_TOKEN\n  value: "{{alnum:40}}"\n',
    'variable "SHOP_API_TOKEN" {\n  type    = string\n  default = "{{alnum:40}}"\n}\n',
  ])
    assert.match(
      only('notes.txt', text)?.confidence_reason ?? text,
      /^assigned to the name SHOP_API_TOKEN|ShopApiToken/,
    );
  assert.equal(only('notes.txt', '{"name": "SHOP_TOKEN_NAME", "value": "{{lower:12}}"}'), undefined);
});

test('the tokens of a vocabulary are no secrets', () => {
  assert.equal(only('vocabulary.json', '{"rank": 4, "token_bytes": "{{alnum:15}}=", "token_str": "x"}'), undefined);
});

test('what directly follows the name of a digest is no credential of the provider before it', () => {
  assert.equal(only('RECORD', 'wasabi/tests/test_tables.py,sha256={{alnum:40}},4500\n'), undefined);
  assert.equal(only('RECORD', 'wasabi_secret={{alnum:40}}\n')?.rule_id, 'wasabi-access-key');
});

test('a hyphen may join a value to the word that must stand before it', () => {
  const rule =
    '[[rules]]\nid = "one"\nnames = ["prospect"]\nsecretWord = true\nforms = ["{{lower-:32}}"]\ndescription = "x"\n';
  const detector = detectorOf(rule);
  const value = 'k3q8zt0b5x7m2rfj9c1ld4vw6n8hs0py';
  assert.equal(scanObject(detector, `prospect-token-${value}\n`)[0]?.secret, value);
  assert.deepEqual(scanObject(detector, `prospect-${value}\n`), []);
});

test('a heading gives a name to the values under it', () => {
  const found = only('app.yaml', 'credentials:\n  shop: "{{alnum:40}}"\n')!;
  assert.deepEqual(
    [found.key_path, found.confidence_reason],
    ['credentials.shop', 'assigned to the name shop under credentials; the value looks random'],
  );
  assert.equal(only('app.yaml', 'things:\n  shop: "{{alnum:40}}"\n'), undefined);
});

test('one secret that several rules judge is one finding', () => {
  assert.equal(only('app.yaml', 'secrets:\n  db_password: "{{alnum:24}}"\n')!.rule_id, 'generic-block-value');
});

test('a rule may set its confidence; without it, a value with one of its keywords is of high confidence', () => {
  const rule = (field: string): string =>
    `[[rules]]\nid = "one"\nregex = '''(?:key=)?(mut_[a-z]{8}|[a-z]{9})'''\nkeywords = ["mut_", "key="]\n${field}`;
  const of = (toml: string, text: string): string => scanObject(detectorOf(toml), text)[0]!.confidence;
  assert.equal(of(rule(''), 'mut_abcdefgh'), 'high');
  assert.equal(of(rule(''), 'key=abcdefghi'), 'medium');
  assert.equal(of(rule('confidence = "low"\n'), 'mut_abcdefgh'), 'low');
  assert.throws(
    () => detectorOf(rule('confidence = "sure"\n')),
    /rule one: confidence must be "low", "medium" or "high"/,
  );
});

const JUDGED = loadRules({ rules: [] }).rules.filter(({ judged, each }) => judged && each === undefined);
/** The patterns alone, without judgement; each by itself, since a rule yields to others that find the same value. */
const patterns = JUDGED.map(({ id, regex, keywords }) => {
  const rule = `[[rules]]\nid = "${id}"\nregex = '''${regex}'''\nsecretGroup = 1\nkeywords = ${JSON.stringify(keywords)}\n`;
  return detectorOf(rule, { decodeDepth: 0 });
});

const texts = fc
  .array(
    fc.constantFrom(
      ...[
        'password',
        'DB_PASSWORD',
        'api_key',
        'key',
        'token',
        'secret',
        'auth',
        'pwd',
        '<key>',
        '</key>',
        'ENV ',
        '--',
      ],
      ...[
        '=',
        ' = ',
        ': ',
        '": "',
        "'",
        '"',
        ' ',
        '\n',
        ',',
        ';',
        '>',
        '</',
        'value',
        'name',
        'x7Kq2mP9vR4tN8wL',
        'abc',
      ],
    ),
    { maxLength: 50 },
  )
  .map((parts) => parts.join(''));

test('what is judged is what each pattern finds in the whole text, in any chunks', () => {
  const oracle = (text: string): string[] =>
    JUDGED.flatMap(({ id, regex }) =>
      [...text.matchAll(new RegExp(toJavaScript(parseRegex(regex!).node), 'g'))].map((match) => {
        const lead = /^[\r\n]*/.exec(match[0])![0].length;
        return `${id}@${match.index + lead}:${match[1]!}`;
      }),
    ).sort();
  fc.assert(
    fc.property(texts, fc.integer({ min: 7, max: 400 }), (text, chunkBytes) => {
      const found = patterns.flatMap((pattern) => scanObject(pattern, text, { chunkBytes }));
      assert.deepEqual(
        found.map(({ rule_id, offset, secret }) => `${rule_id}@${offset}:${secret}`).sort(),
        oracle(text),
      );
    }),
    { numRuns: 400 },
  );
});

test('passwords may begin like a call, hold braces, and have signs for letters', () => {
  for (const value of [
    'qbzd(12ef',
    'Tq7(9x!vR2',
    'k7(2)9xQvR',
    'wQbz(kD62hTr',
    'k{9f!Q}x7w',
    'blue$ky71',
    'moun$tain7hill',
    'R<t5>kq9Zb8w',
    '$qbzd7!ukW',
    '$kx!w9TbR',
  ]) {
    assert.equal(only('app.py', `password = "${value}"`)?.secret, value);
    assert.equal(only('.env', `DB_PASSWORD=${value}\n`)?.secret, value);
  }
  for (const value of [
    'getenv(key',
    'getenv(key2)',
    'read(0x12)',
    'hash(name)',
    'f"{user}-{host}"',
    '{name}',
    'user_{id}',
    'anyone@',
    '^-?(?:0|[1-9][0-9]*)$',
    '$password',
    '$user7',
    '$shop->password',
    '$HOME/key2',
    '$user:$password2!',
  ])
    assert.equal(only('app.py', `password = "${value}"`), undefined, value);
});

test('a value may begin like the name of an algorithm', () => {
  for (const value of ['rsa8Kd93jfKq20sLm7x', 'aes7Gh2kLqP0vXz93m', 'AES9Q2mL7wXk4TbR8Z'])
    assert.equal(only('.env', `SHOP_API_TOKEN=${value}\n`)?.secret, value);
  const names =
    'aes-256-gcm aes256gcm AES128-GCM16 rsa4096 RSA_PKCS1_PADDING RSA-OAEP-256 RSAES_OAEP_SHA_256 rsa-sha2-512';
  for (const name of names.split(' ')) assert.equal(only('.env', `SHOP_API_KEY=${name}\n`), undefined, name);
});

test('a value on a line of its own has the name at the end of the line before', () => {
  const text = 'const apiToken =\n  "{{alnum:40}}";';
  assert.match(only('app.yaml', text)?.confidence_reason ?? text, /^assigned to the name apiToken;/);
  // It is another argument where a variable or a call precedes it.
  for (const other of ['assert(of_secret,\n  "{{hex:32}}")', 'equal(digest("password"),\n  "{{hex:32}}")'])
    assert.equal(only('app.lua', other), undefined, other);
});

test('an attribute has its own name, unless it is called a value', () => {
  const of = (text: string): string => only('users.xml', text)?.confidence_reason ?? text;
  assert.match(of('<user name="shop" password="{{alnum:6}}7{{alnum:7}}"/>'), /^assigned to the name password;/);
  assert.match(of('<add key="shopPassword" value="{{alnum:6}}7{{alnum:7}}"/>'), /^assigned to the name shopPassword;/);
});

test('names of cipher suites are no secrets', () => {
  for (const value of ['TLS_DHE_PSK_WITH_AES_128_CCM_8', 'PSK-AES256-CCM8'])
    assert.equal(only('tls.h', `# define TXT_PSK_SUITE "${value}"`), undefined, value);
});

test('what is taken for a missing variable of the environment has its name', () => {
  const found = only('app.py', 'p = os.environ.get("DB_PASSWORD") or "{{alnum:14}}"');
  assert.match(found?.confidence_reason ?? '', /^assigned to the name DB_PASSWORD/);
});

test('random letters may begin with a hyphen', () => {
  assert.equal(only('a.json', '{"api_token": "-x{{alnum:46}}"}')?.secret.length, 48);
  assert.equal(only('a.json', '{"api_token": "-some_option"}'), undefined);
});

test('the fingerprint of the key of a signer is no secret', () => {
  assert.equal(only('pom.xml', '<releaseManagerKey>{{HEX:40}}</releaseManagerKey>'), undefined);
});

test('in a text for readers, only random values are more likely secrets than examples', () => {
  for (const line of ['api_key = "{{alnum:32}}"', 'client_secret: {{hex:32}}', 'password: {{alnum:6}}#9{{alnum:8}}'])
    for (const path of ['README.md', 'docs/setup.md'])
      assert.notEqual(only(path, line)?.confidence ?? 'low', 'low', line);
  for (const value of ['Winter2024!', 'my-secret-token-2'])
    assert.equal(only('README.md', `password: "${value}"`)?.confidence ?? 'low', 'low', value);
});

test('a word before "key" says whose it is', () => {
  assert.match(only('notes.txt', 'API Key: {{alnum:32}}')?.confidence_reason ?? '', /^assigned to the name API Key/);
  assert.equal(only('notes.txt', 'Public key: {{alnum:40}}')?.confidence ?? 'low', 'low');
  assert.equal(only('notes.txt', 'the key: {{alnum:40}}')?.confidence ?? 'low', 'low');
});

test('a value that has no name is judged by the name that its rule gives it', () => {
  const found = only('app.py', 'server.login("shop", "{{letters:5}}7#{{letters:4}}3{{letters:2}}")');
  assert.match(found?.confidence_reason ?? '', /^stands where a password is expected; /);
  assert.equal(only('app.py', 'server.login("shop", "password")'), undefined);
  const rule = `[[rules]]\nid = "one"\nregex = '''unlock\\("([^"]+)"'''\nkeywords = ["unlock("]\njudgedAs = "client_secret"\n`;
  const [own] = scanObject(detectorOf(rule), expandCase('unlock("{{alnum:40}}")', 'own').text, { path: 'app.js' });
  assert.equal(own!.confidence_reason, 'stands where a client secret is expected; the value looks random');
});

test('what decodes a literal stands between it and its name', () => {
  for (const text of [
    'apiKey, err := hex.DecodeString("{{hex:64}}")',
    'apiKey = Buffer.from("{{alnum:40}}", "base64")',
  ])
    assert.match(only('app.go', text)?.confidence_reason ?? text, /^assigned to the name apiKey; /);
});

test('an element that holds a value has the name of the property around it', () => {
  const text = '<property name="password">\n  <value>{{letters:5}}7#{{letters:4}}3{{letters:2}}</value>\n</property>\n';
  assert.match(only('beans.xml', text)?.confidence_reason ?? '', /^assigned to the name password/);
});

test('what follows an interpolation is no value of the name within it', () => {
  assert.equal(only('app.rb', 'url = "redis://a:#{ENV.fetch("SHOP_PASSWORD")}@cache:6379"'), undefined);
});
