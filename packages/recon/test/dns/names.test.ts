import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import { addressFamily, normalizeName, reverseName } from '../../src/dns/names.ts';
import { expandNames } from '../../src/dns/wordlist.ts';

const normalized = (text: string): string => {
  const verdict = normalizeName(text);
  return verdict.ok ? verdict.name : `refused: ${verdict.reason}`;
};

suite('names', () => {
  test('are converted to lower-case ASCII without a trailing dot', () => {
    assert.equal(normalized('WWW.Example.Test.'), 'www.example.test');
    assert.equal(normalized('Bücher.Example'), 'xn--bcher-kva.example');
    assert.equal(normalized('例え.テスト'), 'xn--r8jz45g.xn--zckzah');
    assert.equal(normalized('_dmarc.example.test'), '_dmarc.example.test');
    assert.equal(normalized('*.example.test'), '*.example.test');
    assert.equal(normalized('localhost'), 'localhost');
    assert.equal(normalized('1.0.0.127.in-addr.arpa'), '1.0.0.127.in-addr.arpa');
  });

  test('that are invalid are rejected with a reason', () => {
    const refused = [
      '',
      '.',
      'a..b',
      '.a',
      'a b',
      'a/b',
      'a.*.b',
      '1.2.3.4.5',
      `${'x'.repeat(64)}.test`,
      'a:80',
      'http://a',
    ];
    for (const text of refused) assert.match(normalized(text), /^refused: /, JSON.stringify(text));
    assert.match(normalized(Array<string>(64).fill('abc').join('.')), /more than 253/);
    assert.equal(normalized(Array<string>(63).fill('abc').join('.') + 'd').length, 252);
  });

  test('are distinguished from addresses', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain(), fc.string()), (text) => {
        const expected = isIP(text);
        assert.equal(addressFamily(text), expected);
      }),
    );
  });

  test('of addresses have the form for PTR', () => {
    assert.equal(reverseName('192.0.2.10', 4), '10.2.0.192.in-addr.arpa');
    const zeros = (count: number): string => '0.'.repeat(count);
    assert.equal(reverseName('::1', 6), `1.${zeros(31)}ip6.arpa`);
    assert.equal(reverseName('2001:db8::a:0:0:1', 6), `1.${zeros(11)}a.${zeros(11)}8.b.d.0.1.0.0.2.ip6.arpa`);
    assert.equal(reverseName('::ffff:192.0.2.1', 6), `1.0.2.0.0.0.0.c.f.f.f.f.${zeros(20)}ip6.arpa`);
    fc.assert(fc.property(fc.ipV6(), (address) => assert.equal(reverseName(address, 6).length, 72)));
  });
});

suite('wordlists', () => {
  test('become names of every domain, in order', async () => {
    let taken = 0;
    const words = (function* () {
      for (const word of ['www', '', '# a comment', ' mail ', '.dev.api.', 'last']) {
        taken += 1;
        yield word;
      }
    })();
    const names = expandNames(['example.test', 'other.test.'], words);
    assert.equal((await names.next()).value, 'www.example.test');
    assert.equal(taken, 1, 'no words are read ahead');
    const rest: string[] = [];
    for await (const name of names) rest.push(name);
    assert.deepEqual(rest, [
      'www.other.test',
      'mail.example.test',
      'mail.other.test',
      'dev.api.example.test',
      'dev.api.other.test',
      'last.example.test',
      'last.other.test',
    ]);
  });
});
