import assert from 'node:assert/strict';
import { test } from 'node:test';

import { amount, byteSize, endpoint, milliseconds } from '@heddle/base/terminal/flag-values';
import { reportTo } from '../../src/command/flags.ts';

test('sizes: single letters and units with i are powers of 1024, others of 1000', () => {
  const size = byteSize(0, 1024 ** 5);
  const given = ['0', '4096', '10k', '4MiB', '1.5 GB', '2g', '1T', '7b', '0.5k', '3kB'];
  assert.deepEqual(given.map(size), [0, 4096, 10 * 1024, 4 * 1024 ** 2, 1.5e9, 2 * 1024 ** 3, 1024 ** 4, 7, 512, 3000]);
  for (const text of ['', '-1', '1e9', 'k', '10 potatoes', '0x10', '9'.repeat(40), 'NaN', '1.2.3', '10kk']) {
    assert.throws(() => size(text), { name: /InvalidArgument|CommanderError|Error/, message: /number of bytes/ }, text);
  }
  assert.throws(() => byteSize(4096, 2 * 1024 ** 2)('1'), /from 4k to 2m/);
});

test('counts and durations have limits, which their errors name', () => {
  assert.deepEqual(
    [amount(1, 1_000_000)('10k'), milliseconds(1, 60_000)('2s'), milliseconds(1, 60_000)('500ms')],
    [10_000, 2000, 500],
  );
  assert.throws(() => amount(1, 8)('9'), /from 1 to 8/);
  assert.throws(() => amount(1, 8)('1.5'), /whole number/);
  assert.throws(() => milliseconds(1, 60_000)('2h'), /from 1ms to 60s/);
});

test('reports are given with their file; files may have any character', () => {
  assert.deepEqual(reportTo('junit=b=c.xml', reportTo('sarif=a')), [
    { format: 'sarif', path: 'a' },
    { format: 'junit', path: 'b=c.xml' },
  ]);
  for (const text of ['sarif', '=a', 'sarif=', 'xml=a']) assert.throws(() => reportTo(text), /FORMAT=FILE/, text);
});

test('an endpoint is an http or https address', () => {
  assert.equal(endpoint('http://127.0.0.1:9000'), 'http://127.0.0.1:9000');
  for (const text of ['127.0.0.1:9000', 'file:///etc/passwd', '']) assert.throws(() => endpoint(text), /http or https/);
});
