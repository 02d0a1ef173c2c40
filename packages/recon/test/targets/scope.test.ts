import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { formatAddress, IPV6_MAX, type Address } from '@heddle/base/net/address';
import fc from 'fast-check';

import { endpoints } from '../../src/targets/endpoints.ts';
import { createScope, narrowScope } from '../../src/targets/scope.ts';
import { parseTargets } from '../../src/targets/target-list.ts';
import type { Endpoint } from '../../src/targets/port.ts';

interface Attack {
  why?: string;
  target: string;
  scope: string[];
  /** The addresses of the name. */
  resolves?: string[];
  exclude?: string[];
  /** For a range across the boundary: the part that may be probed. */
  remains?: string[];
}

const CORPUS = JSON.parse(readFileSync(join(import.meta.dirname, 'scope-evasions.json'), 'utf8')) as {
  refused: Attack[];
  allowed: Attack[];
};

/** Returns what would be probed through the whole pipeline; with `cut` false, by the check of each endpoint alone. */
async function probed({ target, scope: entries, resolves, exclude = [] }: Attack, cut: boolean): Promise<Endpoint[]> {
  const scope = createScope(entries);
  const parsed = parseTargets([target], { exclude });
  const source = endpoints({
    targets: cut ? parsed.within(scope).targets : parsed,
    ports: [80],
    seed: 1,
    scope: cut ? scope : { check: (ip, name) => scope.check(ip, name), checkName: (name) => scope.checkName(name) },
    resolve: () => Promise.resolve(resolves ?? ['127.0.0.1']),
  });
  return [...(await source.next(100, new AbortController().signal))];
}

describe('attacks on the scope', () => {
  for (const attack of CORPUS.refused) {
    test(`${JSON.stringify(attack.target)}: ${attack.why!}`, async () => {
      for (const cut of [true, false]) {
        let found: Endpoint[];
        try {
          found = await probed(attack, cut);
        } catch (error) {
          assert.equal((error as Error).name, 'HeddleError', String(error));
          assert.equal(attack.remains, undefined);
          continue;
        }
        assert.deepEqual(found.map(({ ip }) => ip).sort(), attack.remains ?? []);
      }
    });
  }

  test('allowed targets are probed: the scope does not simply refuse everything', async () => {
    for (const entry of CORPUS.allowed) {
      for (const cut of [true, false]) assert.equal((await probed(entry, cut)).length, 1, JSON.stringify(entry));
    }
  });
});

describe('reasons', () => {
  const reason = (ip: string, ...entries: string[]): string => {
    const verdict = createScope(entries).check(ip, null);
    return verdict.allowed ? 'allowed' : verdict.reason;
  };

  test('name the kind of address and the entry that would allow it; that entry does', () => {
    assert.equal(reason('8.8.8.8'), 'no entry of the scope covers 8.8.8.8; add it, or a network that contains it');
    assert.equal(
      reason('169.254.169.254', '0.0.0.0/0'),
      '169.254.169.254 is a metadata service of clouds; only an entry that names it by address allows it: 169.254.169.254',
    );
    assert.match(
      reason('2002:a00:1::1'),
      /tunnelled IPv4 address \(6to4\) and leads to 10\.0\.0\.1; target 10\.0\.0\.1 itself/,
    );
    assert.match(reason('::ffff:8.8.8.8'), /or add an entry ::ffff:808:808, and one that allows 8\.8\.8\.8$/);
    const verdict = createScope([]).checkName('www.example.com');
    assert.match(verdict.allowed ? '' : verdict.reason, /covers www\.example\.com; add it/);
  });

  test('every refused address is allowed by the entries that its refusal names', () => {
    const v4 = fc.nat(2 ** 32 - 1).map((value): Address => ({ family: 4, value }));
    const v6 = fc.bigInt(0n, IPV6_MAX).map((value): Address => ({ family: 6, value }));
    const embedded = fc
      .tuple(fc.constantFrom('::ffff:', '64:ff9b::', '::'), fc.ipV4())
      .map(([prefix, inner]) => `${prefix}${inner}`);
    fc.assert(
      fc.property(fc.oneof(v4.map(formatAddress), v6.map(formatAddress), embedded), (ip) => {
        const verdict = createScope([]).check(ip, null);
        if (verdict.allowed) return;
        const lines = [
          ...verdict.reason.matchAll(
            /(?:covers|address allows it:|allows|add an entry|leads to) ([0-9a-f.:]*[0-9a-f]|::)/g,
          ),
        ];
        assert.deepEqual(
          createScope(lines.map(([, line]) => line!)).check(ip, null),
          { allowed: true },
          verdict.reason,
        );
      }),
      { examples: [['::']] },
    );
  });
});

test('the ranges of a scope agree with its checks of single addresses', () => {
  const entries = [
    '203.0.112.0/22',
    '64:ff9b::/96',
    '169.254.0.0/16',
    '8.8.8.1-8.8.9.3',
    '2001:db8::/32',
    '::ffff:10.0.0.0/104',
  ];
  const scope = createScope(entries);
  const edges = scope.addresses.ranges.flatMap(({ family, first, last }): Address[] =>
    family === 4
      ? [first - 1, first, last, last + 1]
          .filter((value) => value >= 0 && value < 2 ** 32)
          .map((value) => ({ family, value }))
      : [first - 1n, first, last, last + 1n]
          .filter((value) => value >= 0n && value <= IPV6_MAX)
          .map((value) => ({ family, value })),
  );
  assert.ok(edges.length > 30);
  for (const address of edges) {
    assert.equal(
      scope.check(formatAddress(address), null).allowed,
      scope.addresses.has(address),
      formatAddress(address),
    );
  }
});

test('followed names may be resolved, and add no address to the scope', () => {
  const scope = createScope([], ['zone.test']);
  const allowed = ['zone.test', 'a.zone.test', 'azone.test', 'zone.test.example.com'].map(
    (name) => scope.checkName(name).allowed,
  );
  assert.deepEqual(allowed, [true, true, false, false]);
  assert.equal(scope.check('127.0.0.1', 'a.zone.test').allowed, true);
  for (const ip of ['93.184.216.34', '169.254.169.254']) assert.equal(scope.check(ip, 'a.zone.test').allowed, false);
  assert.equal(narrowScope(scope, ['10.0.0.0/8']).checkName('a.zone.test').allowed, false);
});

describe('a scope within a scope', () => {
  const outer = createScope(['8.8.8.0/24', 'example.com']);

  test('both must allow it; loopback and private networks remain only if the inner one lists them', () => {
    const inner = narrowScope(outer, ['8.8.8.8', '1.1.1.1', '10.0.0.0/8', 'www.example.com', 'evil.test']);
    const verdicts = ['8.8.8.8', '8.8.8.9', '1.1.1.1', '10.0.0.1', '192.168.0.1', '127.0.0.1'];
    assert.deepEqual(
      verdicts.map((ip) => inner.check(ip, null).allowed),
      [true, false, false, true, false, false],
    );
    assert.deepEqual(
      ['www.example.com', 'example.com', 'evil.test', 'localhost'].map((name) => inner.checkName(name).allowed),
      [true, false, false, false],
    );
    assert.equal(inner.check('93.184.216.34', 'www.example.com').allowed, true);
    assert.equal(inner.check('192.168.0.1', 'www.example.com').allowed, true);
    assert.equal(inner.check('169.254.169.254', 'www.example.com').allowed, false);
  });

  test('an inner list never allows what the outer one does not', () => {
    const inner = narrowScope(createScope([]), ['0.0.0.0/0', '::/0', '169.254.169.254', 'com']);
    assert.equal(inner.check('8.8.8.8', 'example.com').allowed, false);
    assert.equal(inner.check('169.254.169.254', null).allowed, false);
    assert.equal(inner.checkName('example.com').allowed, false);
    assert.equal(inner.check('10.0.0.1', null).allowed, true);
  });

  test('without entries nothing changes', () => assert.equal(narrowScope(outer, []), outer));
});

test('overly broad or invalid scope entries are rejected with their position', () => {
  for (const [entry, fault] of [
    ['10.0.0.5/24', /scope\[0\]: "10\.0\.0\.5\/24" has host bits set/],
    ['8.8.8.8:53', /names a port, but a scope contains hosts/],
    ['*', /cannot be a part/],
    ['0x08080808', /reads like an IPv4 address/],
  ] as const) {
    assert.throws(() => createScope([entry]), fault, entry);
  }
});

test('reverse names are those of the address', () => {
  const scope = createScope(['8.8.8.8', '2606:4700::/32']);
  const allowed = (name: string): boolean => scope.checkName(name).allowed;
  assert.equal(allowed('8.8.8.8.in-addr.arpa'), true);
  assert.equal(allowed('9.8.8.8.in-addr.arpa'), false);
  assert.equal(allowed('1.0.0.10.in-addr.arpa'), true);
  assert.equal(allowed('254.169.254.169.in-addr.arpa'), false);
  assert.equal(allowed('10.in-addr.arpa'), false);
  assert.equal(allowed(`${'0.'.repeat(24)}0.0.7.4.6.0.6.2.ip6.arpa`), true);
  assert.equal(allowed(`${'0.'.repeat(24)}1.0.7.4.6.0.6.2.ip6.arpa`), false);
});
