import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeddleError } from '@heddle/base/errors';
import { loadRules } from '../../../src/detect/rules/load-rules.ts';

const RULE = `
[[rules]]
id = "one"
regex = '''one_[a-z]+'''
keywords = ["one_"]
`;

const VERIFY = `
url = "https://api.example.com/me"
headers = { Authorization = "Bearer {{secret}}" }
active = [200, { status = [403], text = ["scope"] }]
inactive = [401]
identity = ["/login"]
permissions = ["header:x-scopes"]
`;

const load = (toml: string, changes: { untrusted?: boolean } = {}) =>
  loadRules({ rules: [{ name: 'own.toml', toml, ...changes }] });

const faultOf = (toml: string): string => {
  try {
    load(toml);
  } catch (error) {
    assert.ok(error instanceof HeddleError);
    return error.message;
  }
  return assert.fail('it was accepted');
};

test('a rule has a verification of its own, or names one of its file, or one that ships with Heddle', () => {
  const [own] = load(`${RULE}[rules.verify]${VERIFY}`).rules;
  assert.deepEqual(own!.verify, {
    type: 'http',
    name: 'one',
    provider: 'one',
    companions: [],
    method: 'GET',
    url: 'https://api.example.com/me',
    headers: { Authorization: 'Bearer {{secret}}' },
    active: [{ status: [200] }, { status: [403], text: ['scope'] }],
    inactive: [{ status: [401] }],
    identity: ['/login'],
    permissions: ['header:x-scopes'],
  });
  const named = load(`[verifications.mine]\nprovider = "Mine"${VERIFY}\n${RULE}verify = "mine"`).rules[0]!.verify;
  assert.ok(typeof named === 'object' && named.name === 'mine' && named.provider === 'Mine');
  const built = load(`${RULE}verify = "github"`).rules[0]!.verify;
  assert.ok(typeof built === 'object' && built.provider === 'GitHub');
});

test('a description may leave its address to the user, and say what an answer of that address means', () => {
  const [rule] = load(
    `${RULE}[rules.verify]${VERIFY.replace('https://api.example.com', '')}endpoint_inactive = [403]\n`,
  ).rules;
  assert.ok(typeof rule!.verify === 'object' && rule!.verify.type === 'http');
  assert.equal(rule!.verify.url, '/me');
  assert.deepEqual(rule!.verify.endpoint_inactive, [{ status: [403] }]);
});

test('a rule that finds something else is not verified like the one that it changes', () => {
  const changed = '[extend]\nuseDefault = true\n[[rules]]\nid = "github-oauth-token"\n';
  const verifyOf = (toml: string) => load(toml).rules.find(({ id }) => id === 'github-oauth-token')!.verify;
  assert.ok(typeof verifyOf(`${changed}entropy = 1`) === 'object');
  assert.equal(verifyOf(`${changed}regex = '''.+'''`), undefined);
});

test('files that were found in scanned directories, or came with a task, do not say where secrets are sent', () => {
  for (const toml of [
    `${RULE}[rules.verify]${VERIFY}`,
    `${RULE}verify = "github"`,
    `[verifications.github]${VERIFY}`,
  ]) {
    const { rules, warnings } = load(toml, { untrusted: true });
    assert.ok(rules.every(({ verify }) => verify === undefined));
    assert.match(warnings.join('\n'), /own\.toml: its descriptions of verifications are ignored/);
  }
});

test('a fault names the rule, the field and the remedy', () => {
  const verify = (text: string): string => faultOf(`${RULE}[rules.verify]\n${text}`);
  const where = 'own.toml: rule one: verify';
  assert.equal(verify('active = [200]'), `${where}: it has no url; write url = "https://..."`);
  assert.equal(
    verify('url = "http://a.example/{{secret}}"'),
    `${where}: url must begin with https:// and a host, or with / if it is asked at addresses of --verify-endpoint only`,
  );
  for (const host of [
    '{{secret}}',
    '{{secret}}.com',
    'example.{{secret}}',
    'a{{secret}}.example.com',
    'user@example.com',
  ])
    assert.match(verify(`url = "https://${host}/"`), /the host of url must end with a domain/, host);
  assert.match(verify('url = "https://{{secret}}.example.com/"'), /the host of url must not contain the secret/);
  assert.match(verify(`${VERIFY}method = "DELETE"`), /verify: method must be one of GET, HEAD, POST/);
  assert.match(
    verify(VERIFY.replace('{{secret}}', '{{token}}')),
    /headers has \{\{token\}\}, but the values are secret/,
  );
  assert.match(verify(VERIFY.replace('{{secret}}', 'x')), /its request does not contain the secret/);
  assert.match(verify(VERIFY.replace('inactive = [401]', '')), /it has no inactive; write inactive = \[200\]/);
  assert.match(verify(VERIFY.replace('[401]', '["401"]')), /inactive must be a list of status codes and tables/);
  assert.match(verify(VERIFY.replace('[401]', '[{ pointer = "/a" }]')), /inactive: pointer needs equals or exists/);
  assert.match(verify(VERIFY.replace('[401]', '[{ equals = [1] }]')), /inactive: equals and exists need a pointer/);
  assert.match(verify(VERIFY.replace('"/login"', '"login"')), /identity must be JSON pointers such as \/login/);
  assert.match(verify(`${VERIFY}json = "{}"`), /a body needs method = "POST"/);
  assert.match(verify('local = "x509"'), /local must be "jwt"/);
  assert.match(faultOf(`${RULE}verify = "nowhere"`), /rule one: verify names nowhere, which is no verification/);
  assert.match(faultOf(`${RULE}verify = 1`), /rule one: verify must be a table/);
  const companion = `${VERIFY}companions = [{ name = "a", regex = '''(?=x)''' }]`;
  assert.ok(verify(companion.replace("'''(?=x)'''", "''''''")).includes('a has no regex'));
});
