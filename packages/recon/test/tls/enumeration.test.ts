import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { once } from 'node:events';
import { cipherCodes, cipherName, ciphersOf } from '../../src/tls/cipher-suites.ts';
import { makeCertificate } from '@heddle/test-support/certificates';
import { eventually } from '@heddle/test-support/eventually';
import { serveTcp, serveTls } from '@heddle/test-support/tls-servers';
import { probe } from '../support/tls/fixture.ts';

const HOST = 'www.example.test';
const leaf = await makeCertificate({ name: HOST });
const rsaLeaf = await makeCertificate({ name: HOST, key: 'rsa2048' });
const openssl = spawnSync('openssl', ['version'], { encoding: 'utf8' });
const hasOpenssl = openssl.status === 0;
const needsOpenssl = hasOpenssl ? {} : { skip: 'there is no openssl on this machine' };

test('names are those of the registry', needsOpenssl, () => {
  const list = spawnSync('openssl', ['ciphers', '-V', '-stdname', 'ALL:COMPLEMENTOFALL:@SECLEVEL=0'], {
    encoding: 'utf8',
  });
  const lines = list.stdout.trim().split('\n');
  assert.ok(lines.length > 50);
  for (const line of lines) {
    const [, high, low, name] = /0x(..),0x(..) - (\S+)/.exec(line)!;
    assert.equal(cipherName(Number.parseInt(`${high}${low}`, 16)), name);
  }
});

test('every number has one name, and unknown numbers are shown', () => {
  const names = cipherCodes().map((code) => cipherName(code));
  assert.equal(new Set(names).size, names.length);
  assert.equal(new Set(cipherCodes()).size, names.length);
  assert.equal(cipherName(0xfafa), '0xFAFA');
  assert.equal(cipherName(0xc0aa), 'TLS_PSK_DHE_WITH_AES_128_CCM_8');
  assert.equal(cipherName(0x002b), 'TLS_KRB5_EXPORT_WITH_RC4_40_MD5');
  assert.equal(cipherName(0xccae), 'TLS_RSA_PSK_WITH_CHACHA20_POLY1305_SHA256');
  assert.ok(ciphersOf('tls13').includes(0x1301) && !ciphersOf('tls12').includes(0x1301));
  assert.ok(!ciphersOf('tls11').includes(0xc02f), 'AEAD begins with TLS 1.2');
});

test('finds exactly the versions that a server accepts', async (t) => {
  const cases = [
    ['TLSv1', 'TLSv1', ['tls10']],
    ['TLSv1', 'TLSv1.1', ['tls11', 'tls10']],
    ['TLSv1.1', 'TLSv1.2', ['tls12', 'tls11']],
    ['TLSv1.2', 'TLSv1.3', ['tls13', 'tls12']],
    ['TLSv1.3', 'TLSv1.3', ['tls13']],
    ['TLSv1', 'TLSv1.3', ['tls13', 'tls12', 'tls11', 'tls10']],
  ] as const;
  for (const [minVersion, maxVersion, expected] of cases) {
    const server = await serveTls(t, [leaf], { minVersion, maxVersion });
    const record = await probe({ port: server.port, host: HOST, versions: true, certificates: false });
    assert.deepEqual(record.version_enum, expected);
    const hasOld = expected.some((version) => version === 'tls10' || version === 'tls11');
    assert.deepEqual(record.findings, hasOld ? ['weak_version'] : []);
    await server.idle();
  }
});

test('finds exactly the ciphers that a server accepts, in its order', async (t) => {
  const wanted = [
    'ECDHE-RSA-CHACHA20-POLY1305',
    'AES256-SHA',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'NULL-SHA256',
    'AES128-SHA',
  ];
  const server = await serveTls(t, [rsaLeaf], {
    ciphers: `${wanted.join(':')}:@SECLEVEL=0`,
    honorCipherOrder: true,
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.2',
  });
  const record = await probe({ port: server.port, host: HOST, versions: true, ciphers: true });
  assert.deepEqual(record.cipher_enum, {
    tls12: [
      'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
      'TLS_RSA_WITH_AES_256_CBC_SHA',
      'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
      'TLS_RSA_WITH_NULL_SHA256',
      'TLS_RSA_WITH_AES_128_CBC_SHA',
    ],
    tls11: ['TLS_RSA_WITH_AES_256_CBC_SHA', 'TLS_RSA_WITH_AES_128_CBC_SHA'],
  });
  assert.deepEqual(record.findings?.toSorted(), ['self_signed', 'untrusted', 'weak_cipher', 'weak_version']);
  await server.idle();
});

test('without versions, the ciphers of the chosen one', async (t) => {
  const server = await serveTls(t, [leaf]);
  const record = await probe({ port: server.port, host: HOST, certificates: false, ciphers: true });
  assert.equal(record.version_enum, undefined);
  assert.deepEqual(Object.keys(record.cipher_enum ?? {}), ['tls13']);
  assert.equal(record.cipher_enum?.tls13?.length, 3);
});

test('a server that stops answering is abandoned, and the record states it', async (t) => {
  const real = await serveTls(t, [leaf], { maxVersion: 'TLSv1.2' });
  const { connect } = await import('node:net');
  let seen = 0;
  let say: string | null = null;
  const server = await serveTcp(t, (socket) => {
    seen += 1;
    if (seen > 3 && say !== null) socket.write(say);
    if (seen > 3) return;
    const inner = connect({ port: real.port, host: '127.0.0.1' });
    inner.on('error', () => undefined);
    socket.on('close', () => inner.destroy());
    socket.pipe(inner).pipe(socket);
  });
  const options = { host: HOST, ciphers: true, certificates: false, timeoutMs: 200 };
  const record = await probe({ port: server.port, ...options });
  assert.equal(record.error, 'ciphers of tls12: timeout');
  assert.equal(record.cipher_enum?.tls12?.length, 2);
  assert.equal(seen, 5, 'queried twice more');
  [seen, say] = [0, 'HTTP/1.1 400 Bad Request\r\n'];
  const confused = await probe({ port: server.port, ...options });
  assert.equal(confused.error, 'ciphers of tls12: not TLS: HTTP: "HTTP/1.1 400 Bad Request"');
  assert.equal(seen, 4);
});

test('SSL 3.0, of a server that knows nothing newer', async (t) => {
  // A ServerHello of SSL 3.0 with RC4, then a certificate and the end of the flight; anything newer is closed.
  const der = rsaLeaf.der;
  const uint24 = (value: number): Buffer => Buffer.of(value >> 16, (value >> 8) & 255, value & 255);
  const message = (type: number, body: Buffer): Buffer => Buffer.concat([Buffer.of(type), uint24(body.length), body]);
  const hello = Buffer.concat([Buffer.of(3, 0), Buffer.alloc(32, 7), Buffer.of(0, 0x00, 0x05, 0)]);
  const chain = Buffer.concat([uint24(der.length + 3), uint24(der.length), der]);
  const content = Buffer.concat([message(2, hello), message(11, chain), message(14, Buffer.alloc(0))]);
  const flight = Buffer.concat([Buffer.of(22, 3, 0, content.length >> 8, content.length & 255), content]);
  const server = await serveTcp(t, (socket) => {
    socket.once('data', (bytes) => {
      const offers = bytes.subarray(46, 46 + bytes.readUInt16BE(44));
      const isRc4Offered = offers.some((byte, at) => at % 2 === 0 && byte === 0 && offers[at + 1] === 5);
      if (bytes.readUInt16BE(9) !== 0x0300) socket.end();
      else socket.end(isRc4Offered ? flight : Buffer.of(21, 3, 0, 0, 2, 2, 40));
    });
  });
  const record = await probe({ port: server.port, host: HOST, versions: true, ciphers: true });
  assert.equal(record.tls_version, 'ssl30');
  assert.deepEqual(record.version_enum, ['ssl30']);
  assert.deepEqual(record.cipher_enum, { ssl30: ['TLS_RSA_WITH_RC4_128_SHA'] });
  assert.deepEqual(record.findings, ['weak_version', 'weak_cipher']);
  await server.idle();
});

/** A port that was free just before. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function opensslServer(t: TestContext, options: readonly string[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-tls-'));
  await writeFile(join(directory, 'key.pem'), rsaLeaf.key);
  await writeFile(join(directory, 'cert.pem'), rsaLeaf.pem);
  const port = await freePort();
  const files = ['-key', join(directory, 'key.pem'), '-cert', join(directory, 'cert.pem')];
  const child = spawn('openssl', ['s_server', '-accept', `127.0.0.1:${port}`, '-www', ...files, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  child.stderr.on('data', (text: Buffer) => (output += text.toString()));
  t.after(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null) await once(child, 'close');
    await rm(directory, { recursive: true, force: true });
  });
  await eventually(() => output.includes('ACCEPT'), `openssl s_server listens: ${output}`);
  return port;
}

test('openssl: anonymous and null ciphers beside sound ones', needsOpenssl, async (t) => {
  const ciphers = 'ADH-AES128-SHA:AECDH-NULL-SHA:ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0';
  const port = await opensslServer(t, ['-cipher', ciphers, '-no_tls1_3', '-serverpref']);
  const record = await probe({ port, host: HOST, ciphers: true });
  assert.deepEqual(record.cipher_enum?.tls12, [
    'TLS_DH_anon_WITH_AES_128_CBC_SHA',
    'TLS_ECDH_anon_WITH_NULL_SHA',
    'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  ]);
  assert.equal(record.subject_cn, undefined, 'an anonymous server has no certificate');
  assert.deepEqual(record.findings, ['weak_cipher']);
});

test('openssl: a certificate after a second hello, with the rarest cipher of TLS 1.3', needsOpenssl, async (t) => {
  const port = await opensslServer(t, ['-tls1_3', '-groups', 'P-521', '-ciphersuites', 'TLS_AES_128_CCM_8_SHA256']);
  const record = await probe({ port, host: HOST });
  assert.equal(record.cipher, 'TLS_AES_128_CCM_8_SHA256');
  assert.equal(record.subject_cn, HOST);
});
