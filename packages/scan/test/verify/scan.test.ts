import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { builtinRuleTexts } from '../../src/detect/rules/builtin.ts';
import { expandCase } from '../support/detect/rules/case-text.ts';
import { optionsFor, scan, temporaryFolder, write } from '../support/scan-fixture.ts';
import { startProvider } from '../support/verify/provider.ts';
import { verifyOptions } from '../support/verify/verifying.ts';

const KEY = expandCase('aws_access_key_id = AKIA{{base32:16}}\n', 'id').text;
const SECRET = expandCase('aws_secret_access_key = {{base64:40}}\n', 'secret').text;
const AWS_RULES = { rules: builtinRuleTexts(), enable: ['aws-access-key-id', 'aws-secret-access-key'] };

test('a key that consists of two secrets is one question, whichever of them is found, however chunks divide them', async (t) => {
  const folder = temporaryFolder(t);
  // The two are farther apart than one chunk is long, and nearer than what is searched.
  write(join(folder, 'far.env'), `${'# comment\n'.repeat(600)}${KEY}${'# comment\n'.repeat(90)}${SECRET}`);
  write(join(folder, 'near.env'), KEY + SECRET);
  write(join(folder, 'alone.env'), SECRET);
  await using provider = await startProvider((_request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"GetCallerIdentityResponse":{"GetCallerIdentityResult":{"Arn":"arn:aws:iam::1:user/ada"}}}'),
  );
  const endpoints = ['aws-secret', 'aws-key-id'].map((name) => ({ name, url: provider.url }));
  const verify = verifyOptions({ endpoints });
  for (const chunkBytes of [4096, 524_288]) {
    provider.received.length = 0;
    const { findings } = await scan(optionsFor(folder, { ...AWS_RULES, chunkBytes, verify }));
    const found = findings.map(({ path, rule_id, verification }) => {
      return [path.slice(folder.length + 1), rule_id, verification!.verdict];
    });
    assert.deepEqual(found, [
      ['alone.env', 'aws-secret-access-key', 'unknown'],
      ['far.env', 'aws-access-key-id', 'active'],
      ['far.env', 'aws-secret-access-key', 'active'],
      ['near.env', 'aws-access-key-id', 'active'],
      ['near.env', 'aws-secret-access-key', 'active'],
    ]);
    assert.match(findings[0]!.verification!.reason, /^AWS cannot be asked: there is no access key id near it$/);
    assert.equal(findings[1]!.verification!.identity, 'arn:aws:iam::1:user/ada');
    assert.equal(provider.received.length, 1);
    assert.ok(
      findings.every((finding) => !('companions' in finding)),
      'what a request needs does not leave the scan',
    );
  }
});

test('many findings are verified at the same time, and reported in their order', async (t) => {
  const folder = temporaryFolder(t);
  const keys = Array.from({ length: 600 }, (_, at) => `MADEUP-${String(100_000 + at)}`);
  write(join(folder, 'many.env'), keys.map((key) => `key = ${key}\n`).join(''));
  const toml = `[[rules]]
id = "made-up-key"
regex = '''MADEUP-[0-9]{6}'''
keywords = ["madeup-"]
[rules.verify]
url = "https://api.example.com/{{secret}}"
active = [200]
inactive = [404]
`;
  let open = 0;
  let openMax = 0;
  await using provider = await startProvider(({ url }, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    // Answers overtake each other.
    setTimeout(
      () => {
        open -= 1;
        response.writeHead(url.endsWith('7') ? 200 : 404).end();
      },
      Number(url.at(-1)),
    );
  });
  const verify = verifyOptions({ endpoints: [{ name: 'made-up-key', url: provider.url }] });
  const { findings } = await scan(optionsFor(folder, { rules: [{ name: 'own.toml', toml }], verify }));
  assert.deepEqual(
    findings.map(({ secret, verification }) => [secret, verification!.verdict]),
    keys.map((key) => [key, key.endsWith('7') ? 'active' : 'inactive']),
  );
  assert.ok(openMax > 1 && openMax <= 16, String(openMax));
});
