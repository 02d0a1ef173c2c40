import assert from 'node:assert/strict';
import { test } from 'node:test';

import { optionRows, readPage } from '@heddle/test-support/docs/pages';
import { Command } from 'commander';
import { addScanOptions, requestOf, SCAN_OPTION_GROUPS } from '../../src/command/options.ts';
import { SCAN_DEFAULTS } from '../../src/options.ts';
import { proxiesOf } from '../../src/outbound/proxies.ts';

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

test('the limits of archives are higher for images, unless they are given', () => {
  const archivesOf = (...args: string[]) => {
    const command = addScanOptions(new Command()).parse(args, { from: 'user' });
    return requestOf([], command.opts()).scan.archives;
  };
  const { archives } = SCAN_DEFAULTS;
  assert.deepEqual(archivesOf(), archives);
  const raised = archivesOf('--image', 'app');
  assert.deepEqual(
    [raised.entriesMax, raised.depthMax, raised.ratioMax],
    [1_000_000, archives.depthMax, archives.ratioMax],
  );
  assert.ok(raised.archiveBytesMax > archives.archiveBytesMax && raised.rootBytesMax > archives.rootBytesMax);
  const given = archivesOf('--image', 'app', '--archive-entries', '4096', '--archive-bytes', '1m');
  assert.deepEqual(
    [given.entriesMax, given.archiveBytesMax, given.rootBytesMax],
    [4096, 1024 * 1024, raised.rootBytesMax],
  );
});
