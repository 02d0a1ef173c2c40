import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseHostPort } from '../../src/app/host-port.ts';

test('addresses and names with a port are read, IPv6 in brackets', () => {
  assert.deepEqual(parseHostPort('127.0.0.1:50051'), { host: '127.0.0.1', port: 50_051 });
  assert.deepEqual(parseHostPort('[::1]:0'), { host: '::1', port: 0 });
  assert.deepEqual(parseHostPort('edge-7.example:65535'), { host: 'edge-7.example', port: 65_535 });
});

test('anything else is rejected', () => {
  for (const text of ['', ':1', '50051', 'host', 'host:', 'host:65536', '::1:50051', 'a b:1', 'http://h:1', 'h:1x']) {
    assert.equal(parseHostPort(text), null, text);
  }
});
