import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { TlsRecord } from '../../src/records.ts';
import { ProbeKeys } from '../../src/tls/key-exchange.ts';
import { seededRandom } from '@heddle/base/random';
import { makeCertificate } from '@heddle/test-support/certificates';
import { answering, serveTcp, serveTls } from '@heddle/test-support/tls-servers';
import type { TestServer } from '@heddle/test-support/tls-servers';
import { probe } from '../support/tls/fixture.ts';
import { fixedHello, recordFlight } from '../support/tls/flight-fixture.ts';

const HOST = 'www.example.test';
const leaf = await makeCertificate({ name: HOST });

async function outcome(server: TestServer, timeoutMs = 5000): Promise<TlsRecord> {
  const record = await probe({ port: server.port, host: HOST, timeoutMs, starttls: 'off' });
  await server.idle();
  return record;
}

async function flightOf12(t: Parameters<typeof serveTls>[0]): Promise<Buffer> {
  const server = await serveTls(t, [leaf], { maxVersion: 'TLSv1.2' });
  const keys = new ProbeKeys(seededRandom(1));
  // ServerHelloDone: the message that ends the flight.
  return recordFlight(server.port, fixedHello(keys, 'tls12'), (bytes) =>
    bytes.subarray(-4).equals(Buffer.of(14, 0, 0, 0)),
  );
}

test('a port with another protocol', async (t) => {
  const http = await serveTcp(t, answering(Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'), true));
  assert.equal((await outcome(http)).error, 'not TLS: HTTP: "HTTP/1.1 400 Bad Request"');
  const ssh = await serveTcp(t, (socket) => socket.write('SSH-2.0-OpenSSH_9.2p1\r\n'));
  const record = await outcome(ssh);
  assert.equal(record.error, 'not TLS: SSH: "SSH-2.0-OpenSSH_9.2p1"');
  assert.equal(record.probe_status, false);
  assert.equal(record.tls_version, undefined);
});

test('a closed port, and a silent one', async (t) => {
  const closing = await serveTcp(t, () => undefined);
  const silent = await outcome(closing, 200);
  assert.equal(silent.error, 'timeout');
  assert.equal(silent.probe_status, false);
  assert.equal(silent.rtt_ms, null);
  const closed = await probe({ port: 1, timeoutMs: 2000 });
  assert.equal(closed.error, 'connection refused');
});

test('closed abruptly at every byte of the answer', async (t) => {
  const flight = await flightOf12(t);
  let length = 0;
  let reset = false;
  const server = await serveTcp(t, (socket) => {
    socket.once('data', () => {
      if (!reset) socket.end(flight.subarray(0, length));
      else socket.write(flight.subarray(0, length), () => socket.resetAndDestroy());
    });
  });
  const stages = [0, 1, 4, 5, 6, 9, 40, 60, 75, 100, 200, 300, flight.length - 1, flight.length];
  for (const stage of stages) {
    for (const isReset of [false, true]) {
      length = stage;
      reset = isReset;
      const record = await outcome(server);
      if (record.subject_cn === HOST) continue;
      assert.match(record.error ?? '', /^closed (?:without an answer|during the handshake)$/, `${stage} ${isReset}`);
    }
  }
  length = flight.length;
  reset = false;
  assert.equal((await outcome(server)).subject_cn, HOST, 'the whole answer, then closed');
});

test('one byte at a time', async (t) => {
  const flight = await flightOf12(t);
  const server = await serveTcp(t, (socket) => {
    socket.setNoDelay(true);
    socket.once('data', () => void drip(socket, flight));
  });
  const record = await outcome(server);
  assert.equal(record.subject_cn, HOST);
  assert.equal(record.error, undefined);
});

async function drip(socket: Socket, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return;
    socket.write(Buffer.of(byte));
    await turn();
  }
}

/** Writes repeatedly, as fast as the data is read. */
function endless(bytes: Buffer): (socket: Socket) => void {
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / bytes.length) }, () => bytes));
  return (socket) => {
    const write = (): void => {
      while (!socket.destroyed && socket.write(many));
    };
    socket.on('drain', write);
    socket.once('data', write);
  };
}

test('an endless handshake is abandoned, whatever it consists of', async (t) => {
  const emptyHandshake = Buffer.of(22, 3, 3, 0, 0);
  const warnings = Buffer.of(21, 3, 3, 0, 2, 1, 112);
  const zeros = Buffer.concat([Buffer.of(22, 3, 3, 0x40, 0), Buffer.alloc(16_384)]);
  const longMessage = Buffer.concat([Buffer.of(22, 3, 3, 0x40, 0, 2, 0, 0xff, 0xf0), Buffer.alloc(16_380)]);
  for (const bytes of [emptyHandshake, warnings, zeros, longMessage]) {
    const record = await outcome(await serveTcp(t, endless(bytes)));
    assert.equal(record.probe_status, false);
    assert.match(record.error ?? '', /^malformed: /);
  }
  const flight = await flightOf12(t);
  const hello = flight.subarray(0, 5 + flight.readUInt16BE(3));
  const afterHello = await serveTcp(t, (socket) => {
    socket.once('data', () => {
      socket.write(hello);
      endless(warnings)(socket);
      socket.emit('drain');
    });
  });
  const record = await outcome(afterHello);
  assert.equal(record.tls_version, 'tls12', 'earlier results are kept');
  assert.match(record.error ?? '', /^malformed: too many records without content/);
});

test('a slow endless answer ends with its timeout', async (t) => {
  const server = await serveTcp(t, (socket) => {
    socket.write(Buffer.of(22, 3, 3, 0x40, 0));
    const timer = setInterval(() => socket.write(Buffer.of(0)), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const record = await outcome(server, 300);
  assert.equal(record.error, 'timeout');
});

test('huge certificates and long chains', async (t) => {
  const names = Array.from({ length: 1500 }, (_, index) => `host-${index}.example.test`);
  const huge = await makeCertificate({ name: HOST, names: [HOST, ...names] });
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const server = await serveTls(t, [huge], { maxVersion });
    const record = await outcome(server);
    assert.equal(record.subject_cn, HOST);
    assert.equal(record.subject_an?.length, 1000, 'names of a record are bounded');
    const long = await serveTls(t, [leaf, ...Array.from({ length: 40 }, () => leaf)], { maxVersion });
    assert.equal((await outcome(long)).chain?.length, 15);
    const tooMuch = await serveTls(t, [leaf, huge, huge, huge], { maxVersion });
    const refused = await outcome(tooMuch);
    assert.equal(refused.error, 'malformed: a handshake of more than 65536 bytes');
    assert.equal(refused.tls_version, maxVersion === 'TLSv1.2' ? 'tls12' : 'tls13');
  }
});

test('random bytes, with and without the appearance of TLS', async (t) => {
  let bytes = Buffer.alloc(0);
  const server = await serveTcp(t, (socket) => {
    socket.once('data', () => socket.end(bytes));
  });
  for (let round = 0; round < 100; round++) {
    bytes = randomBytes(1 + (round % 64) * 20);
    if (round % 2 === 0) bytes.set([22, 3, 3].slice(0, bytes.length));
    const record = await probe({ port: server.port, host: HOST });
    assert.equal(record.probe_status, false);
    assert.ok((record.error ?? '').length > 0);
  }
  await server.idle();
});

test('2,000 mutations of a certificate in a real handshake are described or rejected', async (t) => {
  const { parseCertificate } = await import('../../src/tls/certificate.ts');
  const { CertificateReader } = await import('../../src/tls/certificate-record.ts');
  const { TrustStore } = await import('../../src/tls/trust.ts');
  t.diagnostic('in the process: the handshake itself is mutated elsewhere');
  const reader = new CertificateReader(new TrustStore([leaf.pem]));
  const random = seededRandom(3);
  let described = 0;
  for (let round = 0; round < 2000; round++) {
    const der = Buffer.from(leaf.der);
    for (let count = 1 + Math.floor(random.next() * 3); count > 0; count--)
      der[Math.floor(random.next() * der.length)] = Math.floor(random.next() * 256);
    const cut = random.next() < 0.1 ? der.subarray(0, Math.floor(random.next() * der.length)) : der;
    const record = reader.describe([cut, leaf.der], HOST, Date.now());
    assert.match(record.fingerprint_hash?.sha256 ?? '', /^[0-9a-f]{64}$/);
    if (record.error === undefined) described += 1;
    assert.ok(!/[\u0000-\u001f]/.test(JSON.stringify(record)));
  }
  assert.ok(described > 200 && described < 1990, String(described));
  assert.equal(parseCertificate(leaf.der).record.subject_cn, HOST);
});
