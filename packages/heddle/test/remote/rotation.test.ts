import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { test } from 'node:test';

import { makeDevelopmentCertificates, revokeCertificates } from '../../src/app/remote/certs.ts';
import { generateKeys, rotateKeys } from '../../src/app/remote/keys.ts';
import { readListenerTls, watchListenerTls } from '../../src/app/remote/executor-tls.ts';
import type { ClientTransport } from '@heddle/executor/client/port';
import type { Listener } from '@heddle/executor/listener';
import type { RemoteManager } from '@heddle/executor/manager/port';
import { isAnswerTo, signRequest, signResponse, verifyResponse } from '@heddle/executor/protocol/mac';
import { openAuthenticator } from '@heddle/executor/security/authenticator';
import { clientSigner, readClientCredentials, type ClientSigner } from '@heddle/executor/security/client-credentials';
import { openKeyRingFile } from '@heddle/executor/security/key-ring';
import { RevokedCertificates } from '@heddle/executor/security/revoked-certificates';
import type { Authenticator } from '@heddle/executor/internal/security/port';
import { openTcpTransport } from '@heddle/executor/internal/tcp/client';
import { openTcpListener } from '@heddle/executor/tcp/server';
import { systemClock as clock } from '@heddle/base/clock';
import { silentLogger as log } from '@heddle/base/log';
import { systemRandom as random } from '@heddle/base/random';
import { eventLoopTurn } from '@heddle/base/turn';
import { eventually } from '@heddle/test-support/eventually';
import { AUDIENCE, inDirectory, newNonce } from '../../../executor/test/support/security/fixture.ts';

/** Authenticates and answers each call, without tasks. */
function answering(authenticator: Authenticator, refused: unknown[]): Pick<RemoteManager, 'handle'> {
  return {
    handle: async (received) => {
      const { request } = received;
      const caller = await authenticator.authenticate(received).catch((error: unknown) => {
        refused.push(error);
        throw error;
      });
      const fields = { ...request, timestamp_ms: clock.now(), correlation_id: '', sequence: 0 };
      const response = signResponse({ ...fields, payload: Buffer.from('{"status":"ok"}') }, caller.keys);
      return { response, code: null, pending: false, retryAfterSecs: undefined };
    },
  };
}

interface Site {
  readonly directory: string;
  readonly ring: string;
  readonly clientFile: string;
  readonly certs: string;
  readonly listener: Listener;
  readonly refused: unknown[];
}

/** An executor's listener with mutual TLS on real files. */
async function withSite(run: (site: Site) => Promise<void>, { revokes = false } = {}): Promise<void> {
  await inDirectory(async (directory) => {
    const certs = join(directory, 'certs');
    const made = await generateKeys(directory, ['alice'], AUDIENCE);
    await makeDevelopmentCertificates(certs, ['alice'], ['127.0.0.1']);
    const crl = revokes ? (await revokeCertificates(certs, [], [])).crl : '';
    const keys = await openKeyRingFile({ path: made.ring, clock, log });
    const replayDirectory = join(directory, 'nonces');
    const revoked = new RevokedCertificates();
    const around = { tokens: null, revoked, certificateIngresses: ['tcp' as const], clock, random, log };
    const authenticator = await openAuthenticator({ keys, audiences: [AUDIENCE], replayDirectory, ...around });
    const [cert, key, ca] = ['server.pem', 'server-key.pem', 'ca.pem'].map((name) => join(certs, name));
    const settings = { executorTlsCert: cert!, executorTlsKey: key!, executorClientCa: ca!, executorClientCrl: crl };
    const tls = await readListenerTls(settings, { clock, log, revoked });
    const refused: unknown[] = [];
    const manager = answering(authenticator, refused) as RemoteManager;
    const listener = await openTcpListener({ manager, host: '127.0.0.1', port: 0, tls, clock, log });
    const watch = await watchListenerTls(settings, [listener], { clock, log, revoked });
    try {
      await run({ directory, ring: made.ring, clientFile: made.clients[0]!.file, certs, listener, refused });
    } finally {
      await listener.close(0);
      await watch.close();
      await authenticator.close();
      await keys.close();
    }
  });
}

/** Connects with the current files, makes a few calls and disconnects, until stopped. */
async function callAlways(site: Site, stopped: () => boolean): Promise<number> {
  const endpoint = { protocol: 'tcp' as const, ...site.listener.address, tls: true };
  const signal = new AbortController().signal;
  let calls = 0;
  while (!stopped()) {
    const file = (name: string): string => readFileSync(join(site.certs, name), 'utf8');
    const [cert, key] = [file('client-alice.pem'), file('client-alice-key.pem')];
    // Two files are replaced in sequence by this process, which needs a turn for the second.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      await eventLoopTurn();
      continue;
    }
    const transport = openTcpTransport(endpoint, { ca: file('ca.pem'), cert, key }, { clock });
    for (let times = 0; times < 20; times++) {
      const { client, audience, keyId, keys } = clientSigner(await readClientCredentials(site.clientFile));
      const fields = { key_id: keyId, timestamp_ms: clock.now(), nonce: newNonce(), client, audience };
      const request = signRequest({ ...fields, method: 'status', payload: Buffer.from('{}') }, keys);
      const response = await transport.call(request, { signal, token: null, traceparent: null });
      assert.ok(verifyResponse(response, keys.response) && isAnswerTo(response, request));
      calls += 1;
    }
    await transport.close();
  }
  return calls;
}

function clientTls({ certs }: Site): { ca: string; cert: string; key: string } {
  const file = (name: string): string => readFileSync(join(certs, name), 'utf8');
  return { ca: file('ca.pem'), cert: file('client-alice.pem'), key: file('client-alice-key.pem') };
}

/** Makes one call over the open connection; returns whether it was answered. */
async function call(transport: ClientTransport, { client, audience, keyId, keys }: ClientSigner): Promise<boolean> {
  const fields = { key_id: keyId, timestamp_ms: clock.now(), nonce: newNonce(), client, audience };
  const request = signRequest({ ...fields, method: 'status', payload: Buffer.from('{}') }, keys);
  const signal = new AbortController().signal;
  return transport.call(request, { signal, token: null, traceparent: null }).then(
    () => true,
    () => false,
  );
}

/** Returns the serial number of the listener's certificate. */
async function shownSerial(site: Site): Promise<string> {
  const tls = clientTls(site);
  const { listener } = site;
  return new Promise((resolve, reject) => {
    const socket = connect({ ...listener.address, ...tls }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

test('keys and certificates are rotated under load without rejecting a valid call', async () => {
  await withSite(async (site) => {
    let stopped = false;
    const calling = Promise.all([1, 2, 3].map(() => callAlways(site, () => stopped)));
    for (let round = 0; round < 3; round++) {
      const before = await shownSerial(site);
      await rotateKeys(site.ring, '1h', [site.clientFile]);
      await makeDevelopmentCertificates(site.certs, ['alice'], ['127.0.0.1']);
      await eventually(async () => (await shownSerial(site)) !== before, 'the new certificate');
    }
    stopped = true;
    const calls = (await calling).reduce((sum, each) => sum + each, 0);
    assert.deepEqual(site.refused, []);
    assert.ok(calls > 100, `${calls} calls`);
  });
});

test('after the grace the old key is rejected by name', async () => {
  await withSite(async (site) => {
    const old = clientSigner(await readClientCredentials(site.clientFile));
    await rotateKeys(site.ring, '0s', []);
    const endpoint = { protocol: 'tcp' as const, ...site.listener.address, tls: true };
    const transport = openTcpTransport(endpoint, clientTls(site), { clock });
    await eventually(async () => {
      await call(transport, old);
      return site.refused.length > 0;
    }, 'the ring to be reloaded');
    assert.match(String(site.refused[0]), new RegExp(`The key ${old.keyId} is retired`));
    await transport.close();
  });
});

test('a revoked certificate opens no connections, and calls on its open ones are rejected', async () => {
  await withSite(
    async (site) => {
      const signer = clientSigner(await readClientCredentials(site.clientFile));
      const endpoint = { protocol: 'tcp' as const, ...site.listener.address, tls: true };
      const [before, other] = [clientTls(site), openTcpTransport(endpoint, clientTls(site), { clock })];
      const open = openTcpTransport(endpoint, before, { clock });
      assert.ok((await call(open, signer)) && (await call(other, signer)));
      const revoked = await revokeCertificates(site.certs, ['alice'], []);
      assert.equal(revoked.revoked.length, 1);
      await eventually(async () => !(await call(open, signer)), 'the open connection to be rejected');
      assert.match(String(site.refused[0]), /UNAUTHENTICATED|The certificate was revoked/);
      await open.close();
      const late = openTcpTransport(endpoint, before, { clock });
      assert.equal(await call(late, signer), false);
      await late.close();
      assert.equal(site.refused.length, 1, 'TLS itself rejected the new connection');
      assert.equal(await call(other, signer), false);
      await other.close();
      await makeDevelopmentCertificates(site.certs, ['alice'], ['127.0.0.1']);
      const anew = openTcpTransport(endpoint, clientTls(site), { clock });
      assert.equal(await call(anew, signer), true, 'another certificate of the same client is accepted');
      await anew.close();
      const text = execFileSync('openssl', [
        'crl',
        '-in',
        revoked.crl,
        '-CAfile',
        join(site.certs, 'ca.pem'),
        '-noout',
        '-text',
      ]);
      assert.equal(text.toString().match(/Serial Number/g)?.length, 1);
      await revokeCertificates(site.certs, ['alice'], []);
      await assert.rejects(revokeCertificates(site.certs, ['bob'], []), /client-bob\.pem: cannot be read/);
      await assert.rejects(revokeCertificates(site.directory, [], []), /has no valid authority/);
    },
    { revokes: true },
  );
});
