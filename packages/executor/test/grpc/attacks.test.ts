import assert from 'node:assert/strict';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';

import { openGrpcTransport } from '../../src/grpc/client.ts';
import { Peer } from '../../src/grpc/peers.ts';
import { openGrpcListener } from '../../src/grpc/server.ts';
import type { GrpcLimits } from '../../src/grpc/limits.ts';
import { loadWire } from '../../src/grpc/wire.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { startHealthy, type HealthyClient } from '../support/transports/healthy-client.ts';
import { StandInManager, submit } from '../support/transports/stand-in-manager.ts';
import { certificates } from '../support/transports/suite.ts';
import { rapidReset } from '../support/grpc/rapid-reset.ts';

const CALL = '/heddle.remote.v1.Executor/Call';
const HEALTH = '/grpc.health.v1.Health/Check';

interface Setup {
  manager: StandInManager;
  port: number;
  healthy: HealthyClient;
  session: () => ClientHttp2Session;
}

async function setUp(t: TestContext, limits: Partial<GrpcLimits> = {}, secure = true): Promise<Setup> {
  const { authority, server } = await certificates();
  const manager = new StandInManager();
  const listener = await openGrpcListener({
    manager,
    host: '127.0.0.1',
    port: 0,
    tls: secure ? { cert: server.pem, key: server.key, ca: null } : null,
    limits,
    clock: systemClock,
    log: silentLogger,
  });
  t.after(() => listener.close(0));
  const { port } = listener.address;
  const endpoint = { protocol: 'grpc' as const, host: '127.0.0.1', port, tls: secure };
  const tls = secure ? { ca: authority.pem } : null;
  const healthy = startHealthy(t, openGrpcTransport(endpoint, tls, { clock: systemClock }));
  const session = (): ClientHttp2Session => {
    const made = connect(`https://127.0.0.1:${port}`, { ca: authority.pem });
    made.on('error', () => undefined);
    t.after(() => made.destroy());
    return made;
  };
  return { manager, port, healthy, session };
}

const headersFor = (path: string, more: OutgoingHttpHeaders = {}): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
});

function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag, 0);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Returns the result of a call with these bytes: the gRPC or HTTP status, or how the stream was reset. */
async function statusOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders, bytes: Uint8Array): Promise<string> {
  const stream = session.request(headers);
  let status = '';
  const take = (given: IncomingHttpHeaders): void => {
    if (given['grpc-status'] !== undefined) status = `grpc ${String(given['grpc-status'])}`;
    else if (given[':status'] !== undefined && Number(given[':status']) !== 200)
      status = `http ${String(given[':status'])}`;
  };
  stream.on('response', take);
  stream.on('trailers', take);
  stream.on('error', () => undefined);
  stream.resume();
  stream.end(bytes);
  await new Promise((resolve) => stream.once('close', resolve));
  return status === '' ? `reset ${stream.rstCode}` : status;
}

test('malformed calls get their status, without affecting others', async (t) => {
  const { manager, healthy, session } = await setUp(t);
  manager.remembers = false;
  const wire = await loadWire();
  const good = framed(wire.encodeRequest(submit('Echo', {})));
  const cases: readonly [string, OutgoingHttpHeaders, Uint8Array, RegExp][] = [
    ['unknown method', headersFor('/heddle.remote.v1.Executor/Shutdown'), good, /^grpc 12$/],
    ['unknown service', headersFor('/x/y'), good, /^grpc 12$/],
    ['prototype as method', headersFor('/constructor'), good, /^grpc 12$/],
    ['not gRPC', headersFor(CALL, { 'content-type': 'text/plain' }), good, /^http 415$/],
    ['garbage', headersFor(CALL), framed(Buffer.alloc(300, 0xff)), /^grpc 3$/],
    ['no message', headersFor(CALL), Buffer.alloc(0), /^grpc 3$/],
    ['an empty message', headersFor(CALL), framed(Buffer.alloc(0)), /^grpc (3|16)$/],
    ['two messages', headersFor(CALL), Buffer.concat([good, good]), /^grpc 3$/],
    ['an unknown encoding', headersFor(CALL, { 'grpc-encoding': 'br' }), framed(good, 1), /^grpc 12$/],
    ['invalid gzip', headersFor(CALL, { 'grpc-encoding': 'gzip' }), framed(good, 1), /^grpc 13$/],
    ['a declared length of 4 GiB', headersFor(CALL), Buffer.from('00ffffffff', 'hex'), /^grpc 8$/],
    ['oversize', headersFor(CALL), framed(Buffer.alloc(5 * 1024 * 1024)), /^(grpc 8|reset \d+)$/],
    ['a bad timeout', headersFor(CALL, { 'grpc-timeout': 'soon' }), good, /^grpc (13|0)$/],
    ['huge metadata', headersFor(CALL, { x: 'y'.repeat(200_000) }), good, /^(http 431|grpc 8|reset \d+)$/],
    ['health of an unknown service', headersFor(HEALTH), framed(Buffer.from('0a0178', 'hex')), /^grpc 5$/],
    ['health with garbage', headersFor(HEALTH), framed(Buffer.alloc(300, 0xff)), /^grpc 3$/],
    ['health of the executor', headersFor(HEALTH), framed(Buffer.alloc(0)), /^grpc 0$/],
    ['health with two messages', headersFor(HEALTH), Buffer.alloc(10), /^grpc 3$/],
    ['health without a message', headersFor(HEALTH), Buffer.alloc(0), /^grpc 3$/],
    ['a valid call', headersFor(CALL), good, /^grpc 0$/],
  ];
  for (const [name, headers, bytes, expected] of cases) {
    assert.match(await statusOf(session(), headers, bytes), expected, name);
  }
  await healthy.assertServed();
});

test('requests that never arrive are abandoned, and readers that take nothing are cut', async (t) => {
  const { manager, healthy, session } = await setUp(t, {
    body_ms: 2_000,
    output_ms: 2_000,
    output_bytes_max: 1_000_000,
  });
  manager.remembers = false;
  const slow = session().request(headersFor(CALL));
  let status: unknown;
  slow.on('response', (headers) => (status = headers['grpc-status']));
  slow.on('error', () => undefined);
  slow.write(Buffer.from([0, 0]));
  await eventually(() => status === '4', 'the slow request is abandoned');
  slow.destroy();
  const slowHealth = session().request(headersFor(HEALTH));
  let healthStatus: unknown;
  slowHealth.on('response', (headers) => (healthStatus = headers['grpc-status']));
  slowHealth.on('error', () => undefined);
  slowHealth.write(Buffer.from([0, 0]));
  await eventually(() => healthStatus === '4', 'the slow health check is abandoned');
  slowHealth.destroy();
  const deaf = session();
  const wire = await loadWire();
  const stream = deaf.request(headersFor(CALL));
  stream.on('error', () => undefined);
  stream.end(framed(wire.encodeRequest(submit('Big', { bytes: 8_000_000 }))));
  await eventually(() => deaf.destroyed, 'the connection that reads nothing is cut');
  await healthy.assertServed();
});

test('incomplete and unanswered requests have a total limit', async (t) => {
  const { manager, healthy, session } = await setUp(t, { held_bytes_max: 8_000_000 });
  manager.remembers = false;
  const small = session();
  const waiting = small.request(headersFor(CALL));
  waiting.on('error', () => undefined);
  waiting.write(Buffer.from([0, 0]));
  let streams = 0;
  for (const path of [HEALTH, CALL]) {
    const unfinished = session();
    for (streams = 0; streams < 4; streams += 1) {
      const stream = unfinished.request(headersFor(path));
      stream.on('error', () => undefined);
      stream.write(framed(Buffer.alloc(4_000_000)).subarray(0, -1));
    }
    await eventually(() => unfinished.destroyed, `the largest holder is cut, calling ${path}`);
  }
  const wire = await loadWire();
  const held = session();
  for (; streams > 0; streams -= 1) {
    const stream = held.request(headersFor(CALL));
    stream.on('error', () => undefined);
    stream.end(framed(wire.encodeRequest(submit('Hold', { filler: 'x'.repeat(3_000_000) }))));
  }
  await eventually(() => held.destroyed, 'the largest holder of unanswered requests is cut');
  assert.equal(small.destroyed, false);
  manager.letGo();
  await healthy.assertServed();
});

test('a peer that resets its streams in one write is cut within that write', async (t) => {
  const begun = t.mock.method(Peer.prototype, 'begin');
  const { manager, port, healthy } = await setUp(t, {}, false);
  const attack = async (endStream: boolean): Promise<number> => {
    const before = begun.mock.callCount() - manager.received.length;
    const socket = connectPlain(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(rapidReset(CALL, { streams: 1_000, endStream }));
    await new Promise((resolve) => socket.once('close', resolve));
    return begun.mock.callCount() - manager.received.length - before;
  };
  for (const endStream of [false, true]) {
    const cost = await attack(endStream);
    assert.ok(cost <= 70, `${cost} of 1,000 streams reached a handler`);
  }
  await healthy.assertServed();
});

test('reconnecting to reset more streams does not increase the cost', async (t) => {
  const begun = t.mock.method(Peer.prototype, 'begin');
  const { manager, port, healthy } = await setUp(t);
  const { authority } = await certificates();
  await healthy.assertServed();
  const before = begun.mock.callCount() - manager.received.length;
  const rounds = 8;
  for (let round = 0; round < rounds; round += 1) {
    const at = { host: '127.0.0.1', port, localAddress: '127.0.0.66', ca: authority.pem, ALPNProtocols: ['h2'] };
    const socket = connectTls(at);
    socket.on('error', () => undefined).resume();
    socket.write(rapidReset(CALL, { streams: 1_000 }));
    await new Promise((resolve) => socket.once('close', resolve));
  }
  const cost = begun.mock.callCount() - manager.received.length - before;
  // The initial burst of the address, and then a stream or two per connection.
  assert.ok(cost <= 128 + 64 + 2 * rounds, `${cost} streams of ${rounds} connections reached a handler`);
  await healthy.assertServed();
});

test('opening and resetting thousands of streams ends only that connection', async (t) => {
  const { manager, healthy, session } = await setUp(t);
  manager.remembers = false;
  const rapid = session();
  let open = true;
  rapid.once('close', () => (open = false));
  const isOpen = (): boolean => open;
  for (let round = 0; round < 100 && isOpen(); round += 1) {
    for (let index = 0; index < 50 && isOpen(); index += 1) {
      const stream = rapid.request(headersFor(CALL));
      stream.on('error', () => undefined);
      stream.close(8);
    }
    await new Promise(setImmediate);
  }
  await healthy.assertServed();
});

test('input without TLS, or without HTTP/2 inside it, is cut', async (t) => {
  const { manager, port, healthy } = await setUp(t, { tls_handshake_ms: 2_000 });
  manager.remembers = false;
  for (const text of ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x02', '']) {
    const socket = connectPlain(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(text);
    await new Promise((resolve) => socket.once('close', resolve));
  }
  await healthy.assertServed();
});
