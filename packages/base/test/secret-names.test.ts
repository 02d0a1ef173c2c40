import assert from 'node:assert/strict';
import { test } from 'node:test';

import { redactText } from '../src/redact.ts';
import { isSecretParameter } from '../src/secret-names.ts';

test('names that users give to secrets are recognised, harmless ones are not', () => {
  const secret =
    `X-Auth-Key Ocp-Apim-Subscription-Key X-Functions-Key DD-APPLICATION-KEY X-JWT X-Session-Id api_key apiKey
    apikey APIKey key code sig X-Amz-Signature X-Amz-Security-Token X-Goog-Credential X-Hub-Signature-256 PRIVATE-TOKEN
    X-XSRF-TOKEN Cookie JSESSIONID sid PHPSESSID X-ApiKey access_token id_token clientSecret client_secret
    X-Oauth X-Shopify-Hmac-SHA256 pwd auth Authorization Proxy-Authorization`.split(/\s+/);
  const harmless =
    `Accept Content-Type User-Agent Traceparent X-Request-Id X-Correlation-Id X-Author Idempotency-Key page
    page_size keyword status_code zip-code X-Plain tenant design assign passive`.split(/\s+/);
  assert.deepEqual(
    secret.filter((name) => !isSecretParameter(name)),
    [],
  );
  assert.deepEqual(harmless.filter(isSecretParameter), []);
});

test('parameters are redacted wherever an address stands in a text', () => {
  assert.equal(
    redactText('called https://a.test/x?api_key=abc&page=2&api%5Fkey=d#access_token=e, then ?code=f;q=1'),
    'called https://a.test/x?api_key=[redacted]&page=2&api%5Fkey=[redacted]#access_token=[redacted] then ?code=[redacted];q=1',
  );
});
