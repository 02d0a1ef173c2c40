import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseAddress } from '@heddle/base/net/address';
import { classifyAddress } from '@heddle/base/net/classify';
import { SPECIAL_NETWORKS } from '@heddle/base/net/special-networks';
import { UNRESTRICTED_ADDRESSES, specialBlockOf } from '@heddle/recon/internal/targets/special-ranges';

test('webhooks and scans of networks see the same in each address of the table', () => {
  for (const { network, class: kind } of SPECIAL_NETWORKS) {
    const text = network.split('/')[0]!;
    const address = parseAddress(text)!;
    const isFree = kind === 'loopback' || kind === 'private';
    // The lowest address of a range may have a row of its own.
    if (network === text) assert.equal(classifyAddress(text), kind, network);
    assert.notEqual(classifyAddress(text), 'public', network);
    assert.equal(UNRESTRICTED_ADDRESSES.has(address), isFree, network);
    assert.equal(specialBlockOf(address) === null, isFree, network);
  }
});

test('every metadata service is one to both, that of EKS pods too', () => {
  for (const text of ['169.254.169.254', '169.254.170.2', '169.254.170.23', 'fd00:ec2::23', 'fe80::a9fe:a9fe']) {
    assert.equal(classifyAddress(text), 'metadata', text);
    assert.equal(specialBlockOf(parseAddress(text)!)?.what, 'a metadata service of clouds', text);
  }
});

test('addresses around the table are public to both', () => {
  for (const text of ['169.253.255.255', '100.63.255.255', '100.128.0.0', '192.175.47.255', '2620:4f:7fff::1']) {
    assert.equal(classifyAddress(text), 'public', text);
    assert.equal(specialBlockOf(parseAddress(text)!), null, text);
  }
});
