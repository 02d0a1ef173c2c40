import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { doubtOfAssignment, doubtOfExample, doubtOfValue, isPartOfValue } from '../../../src/detect/judge/doubts.ts';
import { Letters, type LetterTables } from '../../../src/detect/judge/letters.ts';
import type { Detection } from '../../../src/detect/port.ts';
import { detectorOf, scanObject } from '../../support/detect/fixture.ts';
import { expandCase } from '../../support/detect/rules/case-text.ts';

const weights = new URL('../../../src/detect/judge/weights.json', import.meta.url);
const letters = new Letters((JSON.parse(readFileSync(weights, 'utf8')) as { letters: LetterTables }).letters);
const builtin = detectorOf(undefined, { confidence: 'low' });

function only(template: string, path = 'app.env'): Detection {
  const { text } = expandCase({ path, text: template }, `${path} ${template}`);
  const found = scanObject(builtin, text, { path });
  assert.equal(found.length, 1, text);
  return found[0]!;
}

/** Asserts that a text is doubted for a reason, while the same text with another value is not. */
function doubted(template: string, reason: RegExp, certain: string, path?: string): void {
  const { confidence, confidence_reason } = only(template, path);
  assert.equal(confidence, 'low', template);
  assert.match(confidence_reason, reason, template);
  assert.notEqual(only(certain, path).confidence, 'low', certain);
}

test('runs of the alphabet and of digits are doubted, also in turns', () => {
  doubted('SHOP_TOKEN={{alnum:12}}defghi{{alnum:12}}\n', /alphabet/, 'SHOP_TOKEN={{alnum:12}}dxfthi{{alnum:12}}\n');
  doubted('SHOP_TOKEN={{lower:12}}765432{{lower:12}}\n', /alphabet/, 'SHOP_TOKEN={{lower:12}}719432{{lower:12}}\n');
  doubted('SHOP_TOKEN=a1b2c3d4e5f6{{lower:20}}\n', /alphabet/, 'SHOP_TOKEN=a1k2c7d4x5f6{{lower:20}}\n');
});

test('a value that repeats a part of itself is doubted, unless chance explains it', () => {
  assert.match(doubtOfValue('kQ7vZt2m4hJp0sYd8kQ7vZt2m', letters) ?? '', /repeats/);
  assert.equal(doubtOfValue('kQ7vZ4hJp0sYd8wTkQ7vZ2m', letters), null);
  // Keys of fixed parts, and zero bytes.
  assert.equal(doubtOfValue('MIGHAAAAAAAAAAk4hJp0sYd8wTAAAAAAAAAAkQ7', letters), null);
});

test('values that say what they are, words and names of constants are doubted', () => {
  doubted('SHOP_TOKEN={{alnum:14}}fake{{alnum:14}}\n', /word for an example/, 'SHOP_TOKEN={{alnum:32}}\n');
  assert.match(doubtOfValue('SHOP_PKCS11_OBJ_FLAG_LABEL', letters) ?? '', /constant/);
  assert.match(doubtOfValue('/main/sdk/storage/javascript/advanced-requests', letters) ?? '', /words/);
});

test('the name key alone says less than a name with an owner or a key around it', () => {
  doubted('key = "{{alnum:40}}"', /key of anything/, 'api_key = "{{alnum:40}}"', 'app.ini');
  doubted('shop:\n  key-2: {{alnum:40}}\n', /key of anything/, 'shop_key_2: {{alnum:40}}\n', 'app.yaml');
  doubted('key: {{alnum:40}}\n', /key of anything/, 'shop:\n  key: {{alnum:40}}\n', 'app.yaml');
});

test('what names or comments call invalid is doubted', () => {
  doubted('invalid_token = "{{alnum:40}}"', /invalid/, 'shop_token = "{{alnum:40}}"', 'app.py');
  const line = 'api_token = "{{alnum:40}}"';
  doubted(`# a malformed one\n${line}`, /invalid/, `# the one of the shop\n${line}`, 'app.py');
});

test('what a program says of another value does not call the next one invalid', () => {
  const line = 'password == "{{alnum:14}}"';
  assert.notEqual(only(`result = "Invalid user or password"\n${line}`, 'app.py').confidence, 'low');
  assert.equal(only(`result = 0  # invalid\n${line}`, 'app.py').confidence, 'low');
});

test('tokens against forged requests and the beginnings of values are doubted', () => {
  const token = { value: 'k4w9Bm0mqJkmX1SvnNm5CtMm', parents: '', before: '', after: '', lineBefore: '' };
  for (const name of ['csrf_token', 'XSRF-TOKEN', 'authenticityToken'])
    assert.match(doubtOfAssignment({ ...token, name }) ?? '', /each page/, name);
  assert.equal(doubtOfAssignment({ ...token, name: 'shop_token' }), null);
  doubted('password = "{{alnum:12}}-" + suffix', /beginning/, 'password = "{{alnum:12}}-"', 'app.py');
});

test('what a distribution installs for people to read, and lists of defaults, are doubted', () => {
  const line = 'password = "{{alnum:14}}"';
  for (const path of [
    '/usr/share/doc/shop/a.conf',
    'rootfs/usr/share/man/man5/a.5.gz!a.5',
    'data/default-accounts.lua',
  ])
    assert.equal(only(line, path).confidence, 'low', path);
  for (const path of ['/usr/share/shop/a.conf', 'share/a.conf', 'application_default_credentials.conf'])
    assert.notEqual(only(line, path).confidence, 'low', path);
});

test('a sign between a value and the end of its quotes is doubted', () => {
  doubted('x = "vcp_{{alnum:56}}!"', /goes on/, 'x = "vcp_{{alnum:56}}"; y = "!"', 'app.py');
});

test('a token with a sign or a letter that others of its kind do not have is doubted', () => {
  doubted('shop_token = "{{alnum:20}}%{{alnum:19}}"', /sign/, 'shop_token = "{{alnum:40}}"', 'app.py');
  doubted('shop_token = "{{hex:20}}q{{hex:19}}"', /smaller alphabet/, 'shop_token = "q{{hex:40}}"', 'app.py');
  doubted('shop_token = "{{upper:20}}k{{upper:19}}"', /smaller alphabet/, 'shop_token = "{{upper:40}}"', 'app.py');
  // Passwords have signs, and so have cookies and escapes.
  assert.notEqual(only('db_password = "x7!Kq%2mP#vR9$tL"', 'app.py').confidence, 'low');
  for (const value of [
    'Bm0mqJkmX1SvnNm5CtMm%2FS1wxupQG7GtPyXnqNE',
    'shop_session=4hJp0sYd8wTkQ7vZt2mX9wR1',
    'k4w9=x0zq7_v2m5tq8h=r1b6d3',
  ])
    assert.equal(
      doubtOfAssignment({ value, name: 'token', parents: '', before: '', after: '', lineBefore: '' }),
      null,
      value,
    );
});

test('the prefix of a known credential without its form is doubted', () => {
  doubted('SHOP_TOKEN=apify_api_{{alnum:20}}\n', /prefix apify_api_/, 'SHOP_TOKEN=acme_api_{{alnum:20}}\n');
});

test('passwords of documentation are doubted', () => {
  doubted(
    'http://deploy:{{alnum:14}}@git.example.org/a',
    /documentation/,
    'http://deploy:{{alnum:14}}@git.shop.test/a',
  );
  doubted('mysql://root:my-secret-pw@db.shop.test/a', /placeholder/, 'mysql://root:{{alnum:12}}@db.shop.test/a');
});

test('letters of one case with hardly a digit are doubted, unless their alphabet has few digits', () => {
  assert.match(doubtOfValue('kqwpzlmxvbtrhsfgjcnd1wqkzpx', letters) ?? '', /a digit or two/);
  assert.equal(doubtOfValue('kqw3zl7xvb5rhs2gjcnd1wq4zpx', letters), null);
  assert.equal(doubtOfValue('kqwpzlmxvbtrhsfg3cnd7wqkzpx', letters), null);
  assert.equal(doubtOfValue('kqWpzLmxvBtrHsfgJcnd1wQkzPx', letters), null);
});

test('a value that goes on with signs, or belongs to a longer one, is not the credential that a rule is about', () => {
  assert.equal(isPartOfValue("token = '", '?k3Vq8Zt'), true);
  assert.equal(isPartOfValue('token = k3Vq8Zt.', '\n'), true);
  // A query, an escape, an end of a sentence, a part of a name.
  assert.equal(isPartOfValue('https://api.test/', '?page=1'), false);
  assert.equal(isPartOfValue('callback?token=', '%26next'), false);
  assert.equal(isPartOfValue('The token is ', '!\n'), false);
  assert.equal(isPartOfValue('API_V2_', '\n'), false);
  const rotated = scanObject(
    builtin,
    expandCase({ path: 'a.env', text: 'shutterstock: {{alnum:32}}?{{alnum:15}}' }, '').text,
  );
  assert.deepEqual(rotated, []);
});

test('a value on a line of its own has the name of its element', () => {
  const { confidence_reason } = only('<shopToken>\n  {{alnum:32}}\n</shopToken>\n', 'a.txt');
  assert.match(confidence_reason, /shopToken/);
});

test('a run of one character, and hexadecimal digits of lengths that keys do not have, are doubted', () => {
  doubted('SHOP_TOKEN={{lower:12}}qqqqqq{{lower:12}}\n', /many times/, 'SHOP_TOKEN={{lower:12}}qaqbqc{{lower:12}}\n');
  doubted('SHOP_TOKEN={{hex:34}}\n', /bytes/, 'SHOP_TOKEN={{hex:32}}\n');
  assert.match(doubtOfExample('127ab49ce0f3865d71028b', 'README.md') ?? '', /length/);
  assert.equal(doubtOfExample('127ab49ce0f3865d71028b', 'app.py'), null);
  assert.equal(doubtOfExample('127ab49ce0f3865d71028b4a127ab49c', 'README.md'), null);
});

test('words between random characters are doubted, except in passwords', () => {
  const value = '{{alnum:16}}K-some-other-thing-{{alnum:18}}';
  doubted(`shop_token = "${value}"`, /words between/, 'shop_token = "{{alnum:40}}"', 'app.py');
  const password = { value: '4K-some-other-thing-7', name: 'password', parents: '', before: '', after: '' };
  assert.equal(doubtOfAssignment({ ...password, lineBefore: '' }), null);
});

test('the prefix of a known credential may have no separator at its end', () => {
  doubted('shop_token = "AIza{{alnum:28}}"', /prefix aiza/, 'shop_token = "AKza{{alnum:28}}"', 'app.py');
});
