import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { test } from 'node:test';

import '@heddle/executor/internal/security/reflect-metadata';
import * as x509 from '@peculiar/x509';

import { makeDevelopmentCertificates } from '../../src/app/remote/certs.ts';
import { watchListenerTls } from '../../src/app/remote/executor-tls.ts';
import {
  alternativeNames,
  describePeer,
  tlsServerOptions,
  type Listener,
  type ListenerTls,
} from '@heddle/executor/listener';
import { isCertificateOf } from '@heddle/executor/internal/security/identity';
import { RevokedCertificates } from '@heddle/executor/security/revoked-certificates';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { makeCertificate } from '@heddle/test-support/certificates';
import { inDirectory } from '../../../executor/test/support/security/fixture.ts';

test('development certificates pass OpenSSL, and only their owner can read them', () =>
  inDirectory(async (parent) => {
    const directory = join(parent, 'certs');
    const made = await makeDevelopmentCertificates(
      directory,
      ['alice', 'team/ci@x'],
      ['localhost', '127.0.0.1', '::1'],
    );
    for (const name of readdirSync(directory)) {
      assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    }
    const certs = [made.server.cert, ...made.clients.map(({ cert }) => cert)];
    const verified = execFileSync('openssl', ['verify', '-x509_strict', '-CAfile', made.ca, ...certs]).toString();
    assert.equal(verified.match(/: OK/g)?.length, 3);
    const server = new X509Certificate(readFileSync(made.server.cert));
    assert.ok(server.checkHost('localhost') !== undefined && server.checkIP('127.0.0.1') !== undefined);
    assert.ok(Date.parse(server.validTo) - systemClock.now() <= 30 * 86_400_000);
    const peer = describePeer(new X509Certificate(readFileSync(made.clients[1]!.cert)));
    assert.deepEqual(peer.names, ['heddle:client:team/ci@x']);
  }));

test('running again keeps the authority, so that it stays trusted', () =>
  inDirectory(async (directory) => {
    const first = await makeDevelopmentCertificates(directory, ['alice'], ['localhost']);
    const [ca, cert] = [first.ca, first.server.cert].map((path) => readFileSync(path, 'utf8'));
    const second = await makeDevelopmentCertificates(directory, ['bob'], ['localhost']);
    assert.deepEqual([first.authority, second.authority], ['made', 'kept']);
    assert.equal(readFileSync(second.ca, 'utf8'), ca);
    assert.notEqual(readFileSync(second.server.cert, 'utf8'), cert);
    await assert.rejects(makeDevelopmentCertificates(directory, ['a/b', 'a_b'], ['localhost']), /the same file/);
    await assert.rejects(makeDevelopmentCertificates(directory, ['аlice'], ['localhost']), /--client/);
    await assert.rejects(makeDevelopmentCertificates(directory, [], ['a b']), /--host/);
  }));

/** Returns the caller's names as seen by the server; null if it is rejected. */
async function nameSeenBy(serverDirectory: string, clientDirectory: string | null): Promise<readonly string[] | null> {
  const file = (directory: string, name: string): string => readFileSync(join(directory, name), 'utf8');
  const material = { cert: file(serverDirectory, 'server.pem'), key: file(serverDirectory, 'server-key.pem') };
  const options = tlsServerOptions({ ...material, ca: file(serverDirectory, 'ca.pem') }, 5_000);
  const server = createServer(options).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const seen = new Promise<readonly string[] | null>((resolve) => {
    server.once('tlsClientError', () => resolve(null));
    server.once('secureConnection', (socket: TLSSocket) =>
      resolve(describePeer(socket.getPeerX509Certificate()!).names),
    );
  });
  const { port } = server.address() as { port: number };
  const own =
    clientDirectory === null
      ? {}
      : { cert: file(clientDirectory, 'client-alice.pem'), key: file(clientDirectory, 'client-alice-key.pem') };
  const socket = connect({ port, host: '127.0.0.1', ca: file(serverDirectory, 'ca.pem'), ...own });
  socket.on('error', () => undefined);
  const names = await seen;
  socket.destroy();
  server.close();
  return names;
}

test("a certificate of another authority, or the server's own, is rejected", () =>
  inDirectory(async (parent) => {
    const [ours, theirs] = [join(parent, 'ours'), join(parent, 'theirs')];
    for (const directory of [ours, theirs]) await makeDevelopmentCertificates(directory, ['alice'], ['127.0.0.1']);
    assert.deepEqual(await nameSeenBy(ours, ours), ['heddle:client:alice']);
    assert.equal(await nameSeenBy(ours, theirs), null);
    assert.equal(await nameSeenBy(ours, null), null);
    for (const end of ['.pem', '-key.pem']) {
      writeFileSync(join(theirs, `client-alice${end}`), readFileSync(join(ours, `server${end}`)));
    }
    assert.equal(await nameSeenBy(ours, theirs), null, 'a server certificate is not a client certificate');
  }));

test('a name in a certificate that looks like several is one name', async () => {
  const { der } = await makeCertificate({
    name: 'x',
    names: [],
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'url', value: 'x:1, URI:heddle:client:alice' },
        { type: 'url', value: 'y:"2", DNS:alice' },
        { type: 'dns', value: 'bob.example' },
        { type: 'email', value: 'alice' },
      ]),
    ],
  });
  const peer = describePeer(new X509Certificate(der));
  assert.deepEqual(peer.names, ['x:1, URI:heddle:client:alice', 'y:"2", DNS:alice', 'bob.example']);
  assert.equal(isCertificateOf(peer, 'alice'), false);
  assert.equal(isCertificateOf(peer, 'bob.example'), true);
  assert.deepEqual(alternativeNames(''), []);
});

test('half of a changed pair is not used, both together are, and a failing listener is retried', () =>
  inDirectory(async (directory) => {
    await makeDevelopmentCertificates(directory, [], ['localhost']);
    const [certFile, keyFile] = [join(directory, 'server.pem'), join(directory, 'server-key.pem')];
    const errors: string[] = [];
    const log = { ...silentLogger, error: (fields: object) => errors.push(String((fields as { err?: unknown }).err)) };
    const used: ListenerTls[] = [];
    let refuses = false;
    const reloadTls = (tls: ListenerTls): void => {
      if (refuses) throw new Error('not now');
      used.push(tls);
    };
    const settings = {
      executorTlsCert: certFile,
      executorTlsKey: keyFile,
      executorClientCa: '',
      executorClientCrl: '',
    };
    const clock = new VirtualClock(systemClock.now());
    const revoked = new RevokedCertificates();
    const watch = await watchListenerTls(settings, [{ reloadTls } as Listener], { clock, log, revoked });
    assert.equal(used.length, 1);
    const [oldKey, oldCert] = [readFileSync(keyFile), readFileSync(certFile)];
    await makeDevelopmentCertificates(directory, [], ['localhost']);
    const [newKey, newCert] = [readFileSync(keyFile), readFileSync(certFile)];
    writeFileSync(certFile, oldCert);
    await watch.check();
    assert.equal(used.length, 1);
    assert.match(errors[0]!, /does not match the certificate/);
    writeFileSync(certFile, newCert);
    refuses = true;
    await watch.check();
    assert.match(errors[1]!, /not now/);
    refuses = false;
    await watch.check();
    assert.deepEqual(used[1], { cert: newCert.toString(), key: newKey.toString(), ca: null, crl: null });
    writeFileSync(keyFile, oldKey);
    chmodSync(keyFile, 0o644);
    await watch.check();
    assert.match(errors.at(-1)!, /mode 0644 allows others to read it/);
    assert.equal(used.length, 2);
    await watch.close();
  }));
