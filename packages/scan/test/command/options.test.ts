import assert from 'node:assert/strict';
import { test } from 'node:test';

import { optionRows, readPage } from '@heddle/test-support/docs/pages';
import { requestOf, SCAN_OPTION_GROUPS } from '../../src/command/options.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { proxiesOf } from '../../src/verify/options.ts';

test('the page lists every option as it is declared', () => {
  const { text } = readPage('docs/cli.md');
  for (const [title, group] of Object.entries(SCAN_OPTION_GROUPS)) {
    const table = [`| ${title.toLowerCase()} | default | |`, '| --- | --- | --- |', ...optionRows(group)].join('\n');
    assert.ok(text.includes(`\n${table}\n`), `docs/cli.md lacks:\n${table}`);
  }
});

test('a command line without options is a scan with the defaults of the library', () => {
  const { rules: _, ...defaults } = SCAN_DEFAULTS;
  assert.deepEqual(requestOf([], {}).scan, defaults);
});

test('reports are given with their file; files may have any character', () => {
  const { reports } = SCAN_OPTION_GROUPS.Output;
  assert.deepEqual(reports.parse('junit=b=c.xml')?.value, [{ format: 'junit', path: 'b=c.xml' }]);
  for (const text of ['sarif', '=a', 'sarif=', 'xml=a']) assert.equal(reports.parse(text), null, text);
  assert.match(reports.allowed, /^FORMAT=FILE/);
});

test('the proxy of the environment is a proxy of HTTP, or none', () => {
  const none = { proxy: null, noProxy: '' };
  assert.deepEqual(proxiesOf({}), none);
  assert.deepEqual(proxiesOf({ HTTPS_PROXY: 'proxy:3128', NO_PROXY: 'a' }), {
    proxy: 'http://proxy:3128',
    noProxy: 'a',
  });
  assert.deepEqual(proxiesOf({ HTTPS_PROXY: 'http://a', https_proxy: 'http://b' }), { ...none, proxy: 'http://b' });
  assert.equal(proxiesOf({ HTTPS_PROXY: 'socks5://proxy:1080' }), null);
});

test('an endpoint is an http or https address', () => {
  const { s3Endpoint } = SCAN_OPTION_GROUPS.Input;
  assert.equal(s3Endpoint.parse('http://127.0.0.1:9000')?.value, 'http://127.0.0.1:9000');
  for (const text of ['127.0.0.1:9000', 'file:///etc/passwd', '']) assert.equal(s3Endpoint.parse(text), null, text);
});
