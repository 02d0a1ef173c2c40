import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { rootCertificates } from 'node:tls';
import fc from 'fast-check';
import { parseCertificate } from '../../src/tls/certificate.ts';
import type { ParsedCertificate } from '../../src/tls/certificate.ts';
import { DerFault, DerReader, oidText } from '../../src/tls/der.ts';
import { coversHost } from '../../src/tls/host-name.ts';
import { TrustStore } from '../../src/tls/trust.ts';
import { makeCertificate } from '@heddle/test-support/certificates';
import { threadMs } from '@heddle/test-support/processor-time';

test('parses public roots like OpenSSL', () => {
  assert.ok(rootCertificates.length > 50);
  for (const pem of rootCertificates) {
    const expected = new X509Certificate(pem);
    const { record, is_authority } = parseCertificate(expected.raw);
    const lines = expected.subject.split('\n').toReversed();
    const commonName = lines.find((line) => line.startsWith('CN='))?.slice(3) ?? null;
    assert.equal(record.subject_cn, commonName, expected.subject);
    assert.equal(record.subject_dn.split(/(?<!\\),/).length, lines.length);
    assert.equal(BigInt(`0x${record.serial.replaceAll(':', '')}`), BigInt(`0x${expected.serialNumber}`));
    assert.equal(record.not_before, new Date(expected.validFrom).toISOString());
    assert.equal(record.not_after, new Date(expected.validTo).toISOString());
    assert.equal(record.fingerprint_hash.sha1, expected.fingerprint.replaceAll(':', '').toLowerCase());
    assert.equal(is_authority, expected.ca);
    const { asymmetricKeyType, asymmetricKeyDetails } = expected.publicKey;
    assert.equal(record.key_type.toLowerCase(), asymmetricKeyType);
    if (asymmetricKeyType === 'rsa') assert.equal(record.key_bits, asymmetricKeyDetails?.modulusLength);
    if (asymmetricKeyType === 'ec') {
      const bits = Number(/\d+/.exec(asymmetricKeyDetails?.namedCurve?.replace('prime', '') ?? '')?.[0]);
      assert.equal(record.key_bits, bits);
    }
    if ('signatureAlgorithm' in expected) assert.equal(record.signature_algorithm, expected.signatureAlgorithm);
  }
});

test('formats unusual names per RFC 4514, last attribute first', async () => {
  const subject = 'C=CH, O=Müller\\, Söhne+OU=Net, 2.5.4.97=NTRCH-1, CN=#0c0378202c';
  const { der } = await makeCertificate({ name: 'unused', names: ['a.example.test'], subject });
  const { record } = parseCertificate(der);
  assert.equal(record.subject_dn, 'CN=x \\,,organizationIdentifier=NTRCH-1,O=Müller\\, Söhne+OU=Net,C=CH');
  assert.equal(record.subject_cn, 'x ,');
});

test('signatures with old hashes are weak, whatever the key', async () => {
  const { der } = await makeCertificate({ name: 'a.example.test', key: 'rsa2048' });
  const sha256 = Buffer.from('2a864886f70d01010b', 'hex');
  for (const [last, name, isWeak] of [
    [0x02, 'md2WithRSAEncryption', true],
    [0x04, 'md5WithRSAEncryption', true],
    [0x05, 'sha1WithRSAEncryption', true],
    [0x0c, 'sha384WithRSAEncryption', false],
    [0x7f, '1.2.840.113549.1.1.127', false],
  ] as const) {
    const changed = Buffer.from(der);
    changed[changed.indexOf(sha256) + 8] = last;
    const { record, has_weak_signature } = parseCertificate(changed);
    assert.equal(record.signature_algorithm, name);
    assert.equal(has_weak_signature, isWeak);
  }
});

test('matches hosts by RFC 6125', () => {
  const certificate = (names: readonly string[], addresses: readonly string[], commonName: string | null) =>
    ({ dns_names: names, addresses, record: { subject_cn: commonName } }) as unknown as ParsedCertificate;
  const cases: readonly (readonly [readonly string[], string, boolean])[] = [
    [['www.example.test'], 'www.example.test', true],
    [['WWW.Example.Test'], 'www.example.TEST.', true],
    [['*.example.test'], 'www.example.test', true],
    [['*.example.test'], 'example.test', false],
    [['*.example.test'], 'a.b.example.test', false],
    [['*.test'], 'example.test', false],
    [['*'], 'localhost', false],
    [['w*.example.test'], 'www.example.test', false],
    [['*.*.example.test'], 'a.b.example.test', false],
    [['www.*.test'], 'www.example.test', false],
    [['127.0.0.1'], '127.0.0.1', false],
    [['*.xn--bcher-kva.test'], 'www.bücher.test', true],
    [['www.example.test\0.evil.test'], 'www.example.test', false],
  ];
  for (const [names, host, expected] of cases)
    assert.equal(coversHost(certificate(names, [], null), host), expected, `${names.join()} for ${host}`);
  assert.equal(
    coversHost(certificate([], [], 'www.example.test'), 'www.example.test'),
    true,
    'no names: the common name',
  );
  assert.equal(coversHost(certificate(['a.test'], [], 'b.test'), 'b.test'), false, 'names: never the common name');
  assert.equal(coversHost(certificate([], ['fe80::1'], null), 'fe80:0:0::0001'), true);
  assert.equal(coversHost(certificate([], ['192.0.2.1'], '192.0.2.2'), '192.0.2.2'), false);
});

test('wildcards and names agree with OpenSSL', async () => {
  const names = ['www.example.test', '*.wild.example.test', '10.0.0.1'];
  const { der } = await makeCertificate({ name: names[0]!, names });
  const own = parseCertificate(der);
  const theirs = new X509Certificate(der);
  const hosts = [
    'www.example.test',
    'example.test',
    'a.wild.example.test',
    'wild.example.test',
    'a.b.wild.example.test',
  ];
  for (const host of hosts) assert.equal(coversHost(own, host), theirs.checkHost(host) !== undefined, host);
});

test('paths: only valid authorities, within their path length', async () => {
  const now = Date.now();
  const root = await makeCertificate({ name: 'Root', authority: true });
  const upper = await makeCertificate({ name: 'Upper', authority: true, issuer: root, pathLength: 0 });
  const lower = await makeCertificate({ name: 'Lower', authority: true, issuer: upper });
  const leaf = await makeCertificate({ name: 'leaf.example.test', issuer: lower });
  const direct = await makeCertificate({ name: 'leaf.example.test', issuer: upper });
  const server = await makeCertificate({ name: 'server.example.test', issuer: root });
  const below = await makeCertificate({ name: 'leaf.example.test', issuer: server });
  const past = { notBefore: new Date(now - 2e9), notAfter: new Date(now - 1e9) };
  const expired = await makeCertificate({ name: 'Expired', authority: true, issuer: root, ...past });
  const belowExpired = await makeCertificate({ name: 'leaf.example.test', issuer: expired });
  const store = new TrustStore([root.pem]);
  const untrusted = (...chain: { der: Buffer }[]): boolean =>
    store.judge(
      chain.map(({ der }) => parseCertificate(der)),
      now,
    ).untrusted;
  assert.equal(untrusted(direct, upper), false);
  assert.equal(untrusted(leaf, lower, upper), true, 'no authority may stand below the upper one');
  assert.equal(untrusted(below, server), true, 'the certificate of a server signs nothing');
  assert.equal(untrusted(belowExpired, expired), true);
  assert.equal(new TrustStore().judge([parseCertificate(direct.der)], now).untrusted, true);
});

test('custom roots: several in one string, and strings without any', async () => {
  const first = await makeCertificate({ name: 'First', authority: true });
  const second = await makeCertificate({ name: 'Second', authority: true });
  const leaf = await makeCertificate({ name: 'leaf.example.test', issuer: second });
  const store = new TrustStore([`two roots\n${first.pem}\n${second.pem}`]);
  assert.equal(store.judge([parseCertificate(leaf.der)], Date.now()).untrusted, false);
  assert.throws(() => new TrustStore(['nothing']), { code: 'VALIDATION_FAILED', message: /without a PEM certificate/ });
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----';
  assert.throws(() => new TrustStore([first.pem + broken]), { code: 'VALIDATION_FAILED', message: /cannot be read/ });
});

test('certificates that all sign each other do not cause loops', async () => {
  const first = await makeCertificate({ name: 'Mirror', authority: true });
  const mirrors = [first];
  for (let count = 1; count < 16; count++)
    mirrors.push(await makeCertificate({ name: 'Mirror', authority: true, issuer: first }));
  const chain = mirrors.map(({ der }) => parseCertificate(der));
  const startedMs = threadMs();
  assert.equal(new TrustStore().judge(chain, Date.now()).untrusted, true);
  assert.ok(threadMs() - startedMs < 1000);
});

test('arbitrary DER is read or rejected', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        const reader = new DerReader(bytes);
        while (reader.hasMore) oidText(reader.next().content);
        parseCertificate(bytes);
      } catch (error) {
        assert.ok(error instanceof DerFault, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});
