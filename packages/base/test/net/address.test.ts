import assert from 'node:assert/strict';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { test } from 'node:test';

import fc from 'fast-check';

import { formatIpv4, formatIpv6, IPV6_MAX, parseIpv4, parseIpv6, parseZonedAddress } from '../../src/net/address.ts';

test('every address can be parsed back from its formatted form', () => {
  fc.assert(fc.property(fc.nat(2 ** 32 - 1), (value) => parseIpv4(formatIpv4(value)) === value));
  fc.assert(fc.property(fc.bigInt(0n, IPV6_MAX), (value) => parseIpv6(formatIpv6(value)) === value));
});

test('IPv6 is formatted as in URLs, including runs of zeros', () => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(groups, (parts) => {
      const text = parts.map((part) => part.toString(16)).join(':');
      assert.equal(formatIpv6(parseIpv6(text)!), new URL(`http://[${text}]`).hostname.slice(1, -1));
    }),
  );
});

test('accepts exactly what Node accepts as an address, zone ids only from resolvers and sockets', () => {
  const near = fc
    .array(
      fc.constantFrom('0', '1', '7', '9', '10', '255', '256', '.', '.', ':', ':', '::', 'f', 'ffff', 'x', '%', '-'),
      {
        minLength: 1,
        maxLength: 15,
      },
    )
    .map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.oneof(near, fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
      assert.equal(parseIpv4(text) !== null, isIPv4(text), text);
      assert.equal(parseIpv6(text) !== null, isIPv6(text) && !text.includes('%'), text);
      assert.equal(parseZonedAddress(text)?.family ?? 0, isIP(text), text);
    }),
    { numRuns: 3000 },
  );
});
