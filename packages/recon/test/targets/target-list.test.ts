import assert from 'node:assert/strict';
import { test } from 'node:test';

import { formatIpv4 } from '@heddle/base/net/address';
import fc from 'fast-check';

import type { TargetSet } from '../../src/targets/port.ts';
import { createScope } from '../../src/targets/scope.ts';
import { linesOf } from '../../src/targets/target-lines.ts';
import { parseTargets } from '../../src/targets/target-list.ts';

const hostsOf = (set: TargetSet): string[] =>
  Array.from({ length: set.size }, (_, index) => {
    const { host, port } = set.at(index);
    return port === null ? host : `${host} ${port}`;
  });

const parsed = (...texts: string[]): string[] => hostsOf(parseTargets(texts));

test('every notation', () => {
  assert.deepEqual(parsed('10.0.0.8/30'), ['10.0.0.8', '10.0.0.9', '10.0.0.10', '10.0.0.11']);
  assert.deepEqual(parsed('10.0.0.9/30'), parsed('10.0.0.8/30'));
  assert.deepEqual(parsed('10.0.0.254-10.0.1.1'), ['10.0.0.254', '10.0.0.255', '10.0.1.0', '10.0.1.1']);
  assert.deepEqual(parsed('10.0.0.7-8'), ['10.0.0.7', '10.0.0.8']);
  assert.deepEqual(parsed('::1', 'FD00::/127'), ['::1', 'fd00::', 'fd00::1']);
  assert.deepEqual(parsed('fd00::ffff-fd00::1:0'), ['fd00::ffff', 'fd00::1:0']);
  assert.deepEqual(parsed('[fd00::1]', '[FD00::0001]:80'), ['fd00::1', 'fd00::1 80']);
  assert.deepEqual(parsed('WWW.Example.com.', 'www.example.com', 'my-host'), ['www.example.com', 'my-host']);
  assert.deepEqual(parsed('bücher.example'), ['xn--bcher-kva.example']);
  assert.deepEqual(parsed('10.0.0.1:8080', 'db.example:5432'), ['10.0.0.1 8080', 'db.example 5432']);
  assert.deepEqual(parsed('https://www.example.com/a?b#c', 'http://10.0.0.1:81/', 'redis://[::1]'), [
    'www.example.com 443',
    '10.0.0.1 81',
    '::1 6379',
  ]);
  assert.deepEqual(parsed('gopher://example.com/'), ['example.com'], 'a scheme without a port of its own names a host');
  assert.deepEqual(parsed('10.0.0.2,10.0.0.1  a.example # not this', '#b.example'), [
    '10.0.0.1',
    '10.0.0.2',
    'a.example',
  ]);
  assert.deepEqual(parsed('10.0.0.1', '10.0.0.0/31', '10.0.0.1:80', '10.0.0.1:80'), [
    '10.0.0.0',
    '10.0.0.1',
    '10.0.0.1 80',
  ]);
});

test('faults name position, entry and remedy; one error contains several', () => {
  for (const [text, fault] of [
    ['10.0.0.300', /targets\[0\]: "10\.0\.0\.300" is not an IPv4 address: 300 is larger than 255/],
    ['010.0.0.1', /leading zeros, which some read as octal/],
    ['0x7f000001', /reads like an IPv4 address; write it as four decimal numbers/],
    ['2130706433', /reads like an IPv4 address/],
    ['127.1', /reads like an IPv4 address/],
    ['10.0.0.0/33', /must be a number from 0 to 32/],
    ['10.0.0.0/8/8', /is not a network/],
    ['fd00::/129', /must be a number from 0 to 128/],
    ['example.com/path', /has a path/],
    ['10.0.0.9-10.0.0.1', /ends before it begins/],
    ['10.0.0.1-fd00::1', /is not a range/],
    ['10.0.0.1-256', /is not a range/],
    ['fe80::1%eth0', /zone id/],
    ['a.example:0', /has no port from 1 to 65535 at its end: 0/],
    ['a.example:', /no port .* there is none/],
    ['[10.0.0.1]:80', /brackets around something that is not an IPv6 address/],
    ['fd00::1:2:3:4:5:6:7:8:9', /with a port, write \[address\]:port/],
    ['http://user@10.0.0.1/', /has a user before its host/],
    ['a..example', /two dots in a row/],
    ['-a.example', /"-a" cannot be a part of one/],
    ['*.example.com', /"\*" cannot be a part of one/],
    [`${'a'.repeat(64)}.example`, /a part of more than 63 characters/],
    [`${'a.'.repeat(130)}example`, /longer than 253 characters/],
    ['a\u001b[2J', /"a\\u001b\[2J"/],
    ['\u202eexample.com', /"\\u202eexample\.com" is not a host name/],
  ] as const) {
    assert.throws(() => parseTargets([text]), fault, text);
  }
  assert.throws(
    () => parseTargets(['10.0.0.1', 'a..b', '1.2.3'], { exclude: ['10.0.0.1:80'] }),
    (error: Error & { details: string[] }) => {
      assert.deepEqual(
        error.details.map((detail) => detail.split(' ')[0]),
        ['targets[1]:', 'targets[2]:', 'exclude[0]:'],
      );
      return true;
    },
  );
  const file = linesOf('# hosts\r\n10.0.0.1\r\n\r\nhttp://a.example/#x\r\n10.0.0.1 10.0.0.999 # both\r\n', 'hosts.txt');
  assert.throws(() => parseTargets(file), /^HeddleError: hosts\.txt:5: "10\.0\.0\.999" is not an IPv4 address/);
});

test('exclusions remove exactly what they name, compared with enumerated hosts', () => {
  const base = 0x0a000000;
  const piece = fc.oneof(
    fc.tuple(fc.nat(300), fc.integer({ min: 23, max: 32 })).map(([at, bits]) => {
      const size = 2 ** (32 - bits);
      const first = base + Math.floor(at / size) * size;
      return { text: `${formatIpv4(base + at)}/${bits}`, first, last: first + size - 1 };
    }),
    fc.tuple(fc.nat(300), fc.nat(40)).map(([at, more]) => {
      return {
        text: `${formatIpv4(base + at)}-${formatIpv4(base + at + more)}`,
        first: base + at,
        last: base + at + more,
      };
    }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), fc.array(piece, { maxLength: 5 }), (included, excluded) => {
      const targets = parseTargets(
        included.map(({ text }) => text),
        { exclude: excluded.map(({ text }) => text) },
      );
      const written: string[] = [];
      const covers = (list: typeof included, value: number): boolean =>
        list.some(({ first, last }) => value >= first && value <= last);
      for (let value = base; value < base + 1024; value += 1) {
        if (covers(included, value) && !covers(excluded, value)) written.push(formatIpv4(value));
      }
      assert.deepEqual(hostsOf(targets), written);
      for (const { first } of excluded) assert.ok(targets.excludes(formatIpv4(first)));
    }),
  );
});

test('exclusions apply to names, hosts with ports, and names below a domain', () => {
  const targets = parseTargets(['a.example', 'b.a.example', 'c.test', 'c.test:80', '10.0.0.1:80', '10.0.0.2:80'], {
    exclude: ['c.test', '*.a.example', '10.0.0.1'],
  });
  assert.deepEqual(hostsOf(targets), ['a.example', '10.0.0.2 80']);
  assert.deepEqual(
    [targets.hasHost('a.example'), targets.hasHost('c.test'), targets.excludes('10.0.0.1')],
    [true, false, true],
  );
});

test('a /8, half of IPv4 and a large part of IPv6 cost no memory, and any index is available at once', () => {
  const before = process.memoryUsage().heapUsed;
  const sets = Array.from({ length: 200 }, (_, index) => parseTargets([`${index + 1}.0.0.0/8`, `fd00:${index}::/76`]));
  const grownBytes = process.memoryUsage().heapUsed - before;
  assert.ok(grownBytes / sets.length < 20_000, `${grownBytes} bytes for ${sets.length} sets`);
  assert.deepEqual(sets[9]!.at(2 ** 24 - 1), { host: '10.255.255.255', ip: '10.255.255.255', port: null });
  assert.equal(sets[9]!.at(2 ** 24 + 2 ** 40).host, 'fd00:9::100:0:0');
  assert.equal(sets[9]!.size, 2 ** 24 + 2 ** 52);
});

test('more than 2^53 hosts are rejected with their number; exclusions are deducted first', () => {
  assert.throws(() => parseTargets(['fd00::/64']), /18,446,744,073,709,551,616 hosts, and at most 2\^53/);
  const left = parseTargets(['fd00::/64'], { exclude: ['fd00::1:0:0:0-fd00::ffff:ffff:ffff:ffff', 'fd00::/80'] });
  assert.equal(left.size, 0);
  assert.equal(parseTargets(['fd00::/64'], { exclude: ['fd00::2-fd00::ffff:ffff:ffff:ffff'] }).size, 2);
});

test('a scope cuts targets as ranges, and reports what it removes and why', () => {
  const scope = createScope(['203.0.113.0/28', 'example.com']);
  const texts = ['203.0.113.0/24', '10.0.0.0/24', 'www.example.com', 'evil.test', '8.8.8.8:53', '::ffff:10.0.0.1'];
  const { targets, refused, refusedHosts } = parseTargets(texts).within(scope);
  assert.equal(targets.size, 16 + 256 + 1);
  assert.equal(refusedHosts, 240n + 3n);
  assert.deepEqual(
    refused.map(({ target, hosts }) => [target, hosts]),
    [
      ['203.0.113.16-203.0.113.255', 240n],
      ['::ffff:a00:1', 1n],
      ['evil.test', 1n],
      ['8.8.8.8', 1n],
    ],
  );
  assert.match(refused[0]!.reason, /203\.0\.113\.16 is an address of documentation/);
  assert.match(refused[1]!.reason, /leads to 10\.0\.0\.1; target 10\.0\.0\.1 itself/);
  const everything = parseTargets(['0.0.0.0/0']).within(createScope(['1.2.3.4']));
  assert.equal(
    everything.targets.size,
    2 ** 24 + 2 ** 24 + 2 ** 20 + 2 ** 16 + 1,
    'loopback, private, and the listed one',
  );
});
