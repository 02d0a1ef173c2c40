import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isCrossOrigin, KnownHosts } from '../src/web-origin.ts';

test('hosts of loopback and those that were allowed are known, with any port', () => {
  const known = new KnownHosts(['Heddle.Internal', '10.0.0.7', '::ffff:10.0.0.8']);
  const given =
    `localhost localhost:8085 LOCALHOST. app.localhost 127.0.0.1:80 127.9.9.9 [::1] [::1]:8085 heddle.internal:1
    heddle.internal. 10.0.0.7:8085 [::ffff:10.0.0.8]:1`.split(/\s+/);
  for (const host of given) assert.ok(known.has(host), host);
  const foreign = `evil.test evil.test:8085 localhost.evil.test 127.0.0.1.evil.test 127.evil.test 10.0.0.8 [::2] ::1:80
    user@localhost localhost:x localhost/ heddle.internal.evil.test`.split(/\s+/);
  for (const host of [...foreign, '', ' ', undefined]) assert.ok(!known.has(host), host);
});

test('a browser’s own word decides, then the origin; programs send neither', () => {
  const own = 'https://heddle.example';
  const host = 'heddle.test:8085';
  const crosses = (headers: Record<string, string>): boolean => isCrossOrigin({ host, ...headers }, own);
  for (const site of ['cross-site', 'same-site', 'other']) {
    assert.ok(crosses({ 'sec-fetch-site': site, origin: `http://${host}` }), site);
  }
  for (const site of ['same-origin', 'none'])
    assert.ok(!crosses({ 'sec-fetch-site': site, origin: 'https://proxy.test' }));
  for (const origin of [`http://${host}`, 'http://HEDDLE.test:8085', own]) assert.ok(!crosses({ origin }), origin);
  for (const origin of ['null', 'http://heddle.test', 'http://heddle.test:8086', 'https://evil.test', 'x', '']) {
    assert.ok(crosses({ origin }), origin);
  }
  assert.ok(!crosses({}));
  assert.ok(!isCrossOrigin({ host: 'heddle.test', origin: 'http://heddle.test:80' }, null));
});
