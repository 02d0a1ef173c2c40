import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseZonedAddress } from '../../src/net/address.ts';
import { isLoopbackHost } from '../../src/net/classify.ts';
import { contains, parseNetwork } from '../../src/net/network.ts';

test('a network is an address with or without a length', () => {
  const within = (network: string, address: string): boolean =>
    contains(parseNetwork(network)!, parseZonedAddress(address)!);
  assert.ok(within('10.0.0.7/8', '10.255.255.255'));
  assert.ok(within('fd00:1::/32', 'FD00:1::5%eth0'));
  assert.ok(within('10.0.0.7', '10.0.0.7'));
  assert.ok(!within('10.0.0.7', '10.0.0.8'));
  assert.ok(!within('0.0.0.0/0', '::1'));
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/',
    'ten',
    '10.0.0.0/8/8',
    '::/129',
    '10.0/8',
    '010.0.0.1',
    '1.2.3.4%a:b',
  ])
    assert.equal(parseNetwork(text), null, text);
});

test('a host is loopback if only this machine can reach it', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'LOCALHOST'])
    assert.ok(isLoopbackHost(host), host);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2', '::ffff:127.0.0.1', '', 'localhost.example.com'])
    assert.ok(!isLoopbackHost(host), host);
  for (const host of ['127.0.0.1.example', '127.example', '127.1']) assert.ok(!isLoopbackHost(host), host);
});
