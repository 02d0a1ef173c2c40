import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { makeCertificate, makeHierarchy } from '@heddle/test-support/certificates';
import type { KeyKind } from '@heddle/test-support/certificates';
import { serveTls } from '@heddle/test-support/tls-servers';
import { probe } from '../support/tls/fixture.ts';

const DAY_MS = 86_400_000;
const inDays = (days: number): Date => new Date(Date.now() + days * DAY_MS);
const HOST = 'www.example.test';

const { root, intermediate } = await makeHierarchy();
const leaf = await makeCertificate({ name: HOST, issuer: intermediate });
const roots = [root.pem];

const VERSIONS = [
  ['tls10', 'TLSv1'],
  ['tls11', 'TLSv1.1'],
  ['tls12', 'TLSv1.2'],
  ['tls13', 'TLSv1.3'],
] as const;

for (const [version, name] of VERSIONS) {
  test(`${version}: the chain as sent, traced to its root`, async (t) => {
    const server = await serveTls(t, [leaf, intermediate], { minVersion: name, maxVersion: name });
    const record = await probe({ port: server.port, host: HOST, roots });
    const expected = new X509Certificate(leaf.pem);
    assert.equal(record.probe_status, true);
    assert.equal(record.error, undefined);
    assert.equal(record.tls_version, version);
    assert.equal(record.sni, HOST);
    assert.equal(record.fingerprint_hash?.sha256, expected.fingerprint256.replaceAll(':', '').toLowerCase());
    assert.equal(record.serial?.replaceAll(':', ''), expected.serialNumber);
    assert.equal(record.not_after, new Date(expected.validTo).toISOString());
    assert.deepEqual(
      record.chain?.map(({ subject_dn }) => subject_dn),
      ['CN=Test Authority'],
    );
    assert.equal(record.untrusted, false);
    assert.equal(record.self_signed, false);
    assert.equal(record.mismatched, false);
    assert.deepEqual(record.findings, version === 'tls10' || version === 'tls11' ? ['weak_version'] : []);
    assert.match(record.ja3s_hash ?? '', /^[0-9a-f]{32}$/);
    assert.equal(server.accepted, 1, 'one connection is enough');
    await server.idle();
  });

  test(`${version}: a required client certificate changes nothing`, async (t) => {
    const options = { minVersion: name, maxVersion: name, requestCert: true, rejectUnauthorized: true };
    const server = await serveTls(t, [leaf, intermediate], options);
    const record = await probe({ port: server.port, host: HOST, roots });
    assert.equal(record.subject_cn, HOST);
    assert.equal(record.untrusted, false);
  });

  test(`${version}: with and without a stapled OCSP response`, async (t) => {
    const versions = { minVersion: name, maxVersion: name };
    const stapling = await serveTls(t, [leaf, intermediate], versions, Buffer.from('3003020100', 'hex'));
    const without = await serveTls(t, [leaf, intermediate], versions);
    assert.equal((await probe({ port: stapling.port, host: HOST })).ocsp_stapled, true);
    assert.equal((await probe({ port: without.port, host: HOST })).ocsp_stapled, false);
  });

  test(`${version}: with and without a negotiated protocol`, async (t) => {
    const versions = { minVersion: name, maxVersion: name };
    const speaking = await serveTls(t, [leaf], { ...versions, ALPNProtocols: ['h2', 'http/1.1'] });
    const silent = await serveTls(t, [leaf], versions);
    const others = await serveTls(t, [leaf], { ...versions, ALPNProtocols: ['imap'] });
    const alpn = ['http/1.1', 'h2'];
    assert.equal((await probe({ port: speaking.port, host: HOST, alpn })).alpn, 'h2');
    assert.equal((await probe({ port: silent.port, host: HOST, alpn })).alpn, null);
    const refused = await probe({ port: others.port, host: HOST, alpn });
    assert.equal(refused.alpn, null);
    assert.equal(refused.subject_cn, HOST, 'retried without a protocol');
  });
}

const KEYS: readonly (readonly [KeyKind, string, number, boolean])[] = [
  ['rsa1024', 'RSA', 1024, true],
  ['rsa2048', 'RSA', 2048, false],
  ['ec224', 'EC', 224, true],
  ['ec256', 'EC', 256, false],
  ['ec384', 'EC', 384, false],
  ['ed25519', 'Ed25519', 256, false],
];

for (const [kind, type, bits, isWeak] of KEYS) {
  test(`a key of the type ${kind}`, async (t) => {
    const certificate = await makeCertificate({ name: HOST, key: kind, issuer: intermediate });
    const server = await serveTls(t, [certificate, intermediate]);
    const record = await probe({ port: server.port, host: HOST, roots });
    assert.equal(record.key_type, type);
    assert.equal(record.key_bits, bits);
    assert.deepEqual(record.findings, isWeak ? ['weak_key'] : []);
  });
}

test('finds exactly the problems of a certificate', async (t) => {
  const issuer = intermediate;
  const expired = await makeCertificate({ name: HOST, issuer, notBefore: inDays(-20), notAfter: inDays(-10) });
  const early = await makeCertificate({ name: HOST, issuer, notBefore: inDays(10), notAfter: inDays(20) });
  const elsewhere = await makeCertificate({ name: 'other.example.test', issuer });
  const wildcard = await makeCertificate({ name: '*.example.test', issuer });
  const own = await makeCertificate({ name: HOST });
  const clientsOnly = await makeCertificate({ name: HOST, issuer, usages: ['1.3.6.1.5.5.7.3.2'] });
  const rsaRoot = await makeCertificate({ name: 'Old Root', authority: true, key: 'rsa2048', hash: 'SHA-1' });
  const sha1 = await makeCertificate({ name: HOST, issuer: rsaRoot, hash: 'SHA-1' });
  const sound = await makeCertificate({ name: HOST, issuer: rsaRoot });
  const cases = [
    { chain: [expired, intermediate], findings: ['expired'] },
    { chain: [early, intermediate], findings: ['not_yet_valid'] },
    { chain: [elsewhere, intermediate], findings: ['mismatched'] },
    { chain: [wildcard, intermediate], findings: [] },
    { chain: [own], findings: ['self_signed', 'untrusted'] },
    { chain: [clientsOnly, intermediate], findings: ['untrusted'] },
    { chain: [leaf], findings: ['untrusted', 'broken_chain'] },
    { chain: [leaf, root], findings: ['untrusted', 'broken_chain'] },
    { chain: [leaf, root, intermediate], findings: ['broken_chain'] },
    { chain: [leaf, intermediate, root], findings: [] },
    { chain: [sha1, rsaRoot], findings: ['weak_signature'] },
    { chain: [sound, rsaRoot], findings: [] },
  ];
  for (const { chain, findings } of cases) {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const server = await serveTls(t, chain, { maxVersion });
      const record = await probe({ port: server.port, host: HOST, roots: [root.pem, rsaRoot.pem] });
      const subject = chain.map(({ certificate }) => certificate.subject).join(', ');
      assert.deepEqual(record.findings, findings, `${subject} over ${maxVersion}`);
      assert.equal(record.wildcard_certificate, chain[0] === wildcard);
      assert.equal(record.expired, chain[0] === expired);
      assert.equal(record.self_signed, chain[0] === own);
    }
  }
});

test('an address is compared with the addresses of the certificate, and sent without a name', async (t) => {
  const withAddress = await makeCertificate({ name: HOST, names: ['127.0.0.1', '::1'], issuer: intermediate });
  const server = await serveTls(t, [withAddress, intermediate]);
  const record = await probe({ port: server.port, roots });
  assert.equal(record.sni, null);
  assert.equal(record.mismatched, false);
  assert.deepEqual(record.subject_an, ['127.0.0.1', '::1']);
  assert.equal((await probe({ port: server.port, host: HOST, roots })).mismatched, true);
});

test('each name is requested by itself', async (t) => {
  const { createSecureContext } = await import('node:tls');
  const asked: string[] = [];
  const server = await serveTls(t, [leaf, intermediate], {
    SNICallback: (name, answer) => {
      asked.push(name);
      void makeCertificate({ name, issuer: intermediate }).then(({ key, pem }) =>
        answer(null, createSecureContext({ key, cert: pem + intermediate.pem })),
      );
    },
  });
  for (const host of ['a.example.test', 'b.example.test']) {
    const record = await probe({ port: server.port, host, roots });
    assert.equal(record.subject_cn, host);
    assert.deepEqual(record.findings, []);
  }
  const idn = await probe({ port: server.port, host: 'bücher.example.test.', roots });
  assert.equal(idn.sni, 'xn--bcher-kva.example.test');
  assert.equal(idn.mismatched, false);
  assert.deepEqual(asked, ['a.example.test', 'b.example.test', 'xn--bcher-kva.example.test']);
});

test('without certificates one message in each direction suffices', async (t) => {
  const server = await serveTls(t, [leaf, intermediate]);
  const record = await probe({ port: server.port, host: HOST, certificates: false });
  assert.equal(record.tls_version, 'tls13');
  assert.equal(record.cipher, 'TLS_AES_256_GCM_SHA384');
  assert.equal(record.subject_dn, undefined);
  assert.equal(record.alpn, undefined, 'TLS 1.3 encrypts it');
  assert.deepEqual(record.findings, []);
});

for (const ecdhCurve of ['P-256', 'P-384', 'P-521', 'X25519', 'X448']) {
  test(`a server that supports only ${ecdhCurve}`, async (t) => {
    const server = await serveTls(t, [leaf, intermediate], { ecdhCurve, minVersion: 'TLSv1.3', ALPNProtocols: ['h2'] });
    const record = await probe({ port: server.port, host: HOST, roots, alpn: ['h2'] });
    assert.equal(record.tls_version, 'tls13');
    assert.equal(record.alpn, 'h2');
    assert.equal(record.subject_cn, HOST);
    assert.deepEqual(record.findings, []);
    assert.equal(server.accepted, ecdhCurve === 'X448' ? 2 : 1);
    await server.idle();
  });
}

for (const ciphers of ['TLS_AES_128_GCM_SHA256', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_CCM_SHA256']) {
  test(`the certificate behind ${ciphers}`, async (t) => {
    const server = await serveTls(t, [leaf, intermediate], { ciphers, minVersion: 'TLSv1.3' });
    const record = await probe({ port: server.port, host: HOST, roots });
    assert.equal(record.cipher, ciphers);
    assert.equal(record.subject_cn, HOST);
  });
}
