import assert from 'node:assert/strict';
import { connect as connectPlain, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';

import { openHttpListener } from '../../src/http/server.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import type { Listener, ListenerTls } from '../../src/listener.ts';
import type { Health, RemoteManager, Reply } from '../../src/manager/port.ts';
import { createRemoteMetrics } from '../../src/observe/metrics.ts';
import type { SignedRequest } from '../../src/protocol/envelope.ts';
import type { Received } from '../../src/security/port.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { opened, seal, StandInManager } from '../support/transports/stand-in-manager.ts';
import { certificates } from '../support/transports/suite.ts';

const ID = '0190a7b2-0000-7000-8000-000000000001';

/** Lets the test answer polls; everything else is like the stand-in. */
class PolledManager extends StandInManager {
  state: Health['status'] = 'healthy';
  pending = false;
  code: Reply['code'] = null;
  /** Whether the code is a task's outcome. */
  ended = false;
  wait: Promise<unknown> = Promise.resolve();

  override health(): ReturnType<RemoteManager['health']> {
    return { ...super.health(), status: this.state, queue_depth: 12, workers: 8 };
  }

  override async handle(received: Received): Promise<Reply> {
    const reply = await super.handle(received);
    received.signal.addEventListener('abort', () => (this.aborted += 1));
    await this.wait;
    const response = { ...reply.response, correlation_id: this.ended ? ID : reply.response.correlation_id };
    return { ...reply, response, pending: this.pending, code: reply.code ?? this.code };
  }
}

interface Setup {
  manager: PolledManager;
  listener: Listener;
  url: string;
  port: number;
}

async function setUp(t: TestContext, limits: Partial<HttpLimits> = {}, tls: ListenerTls | null = null): Promise<Setup> {
  const manager = new PolledManager();
  const { registry } = createRemoteMetrics();
  const given = { manager, registry, host: '127.0.0.1', port: 0, tls, limits, clock: systemClock, log: silentLogger };
  const listener = await openHttpListener(given);
  t.after(() => listener.close(0));
  const { port } = listener.address;
  return { manager, listener, url: `http://127.0.0.1:${port}`, port };
}

function headersOf(request: SignedRequest): Record<string, string> {
  return {
    'heddle-key-id': request.key_id,
    'heddle-timestamp': String(request.timestamp_ms),
    'heddle-nonce': request.nonce,
    'heddle-client': request.client,
    'heddle-audience': request.audience,
    'heddle-mac': Buffer.from(request.mac).toString('base64url'),
  };
}

/** Sends raw bytes and returns everything received until the connection closes. */
async function raw(socket: Socket, text: string): Promise<string> {
  let answer = '';
  socket.setEncoding('utf8');
  socket.on('data', (part: string) => (answer += part));
  socket.on('error', () => undefined);
  socket.write(text);
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}

test('a poll carries its envelope in headers, and so does the response', async (t) => {
  const { manager, url } = await setUp(t);
  const request = seal('poll', { correlation_id: ID });
  const poll = (): Promise<Response> =>
    fetch(`${url}/poll/${ID}`, {
      method: 'POST',
      body: Buffer.from(request.payload),
      headers: { ...headersOf(request), authorization: 'Bearer a.b.c' },
    });
  const answer = await poll();
  assert.equal(answer.status, 200);
  const field = (name: string): string => answer.headers.get(`heddle-${name}`) ?? '';
  const response = {
    key_id: field('key-id'),
    timestamp_ms: Number(field('timestamp')),
    nonce: field('nonce'),
    client: field('client'),
    audience: field('audience'),
    method: 'poll' as const,
    correlation_id: field('correlation-id'),
    sequence: Number(field('sequence')),
    payload: Buffer.from(await answer.arrayBuffer()),
    mac: Buffer.from(field('mac'), 'base64url'),
  };
  assert.deepEqual(opened(response, request), { status: 'ok' });
  const { ingress, token, pathCorrelationId, remoteAddress } = manager.received[0]!;
  assert.deepEqual([ingress, token, pathCorrelationId, remoteAddress], ['http', 'a.b.c', ID, '127.0.0.1']);
  manager.pending = true;
  assert.equal((await poll()).status, 202);
  manager.pending = false;
  manager.code = 'NOT_FOUND';
  assert.equal((await poll()).status, 404);
  manager.ended = true;
  for (const code of ['EVENT_UNAVAILABLE', 'INVALID_ARGS', 'INTERNAL', 'TASK_TIMEOUT'] as const) {
    manager.code = code;
    assert.equal((await poll()).status, 200, `polling a task that ended with ${code} succeeds`);
  }
});

test('an unsigned error is returned with its code and without an envelope', async (t) => {
  const { url } = await setUp(t);
  const request = { ...seal('poll', {}), key_id: 'other' };
  const answer = await fetch(`${url}/poll/${ID}`, { method: 'POST', body: '{}', headers: headersOf(request) });
  assert.equal(answer.status, 401);
  assert.equal(answer.headers.get('heddle-mac'), null);
  assert.equal(((await answer.json()) as { code: string }).code, 'UNAUTHENTICATED');
  const bare = await fetch(`${url}/poll/${ID}`, { method: 'POST' });
  assert.deepEqual([bare.status, ((await bare.json()) as { code: string }).code], [400, 'MALFORMED']);
});

test("health returns the manager's state, and 503 while draining", async (t) => {
  const { manager, url } = await setUp(t);
  const answer = await fetch(`${url}/healthz`);
  assert.equal(answer.status, 200);
  const health = (await answer.json()) as Health;
  assert.deepEqual([health.status, health.workers, health.queue_depth, health.uptime_seconds], ['healthy', 8, 12, 1]);
  manager.state = 'draining';
  assert.equal((await fetch(`${url}/healthz`)).status, 503);
  manager.state = 'degraded';
  assert.equal((await fetch(`${url}/healthz`, { method: 'HEAD' })).status, 200);
});

test('metrics return the text of a scrape', async (t) => {
  const { url } = await setUp(t);
  const answer = await fetch(`${url}/metrics`);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  assert.match(await answer.text(), /^volnux_queue_depth\{protocol="grpc"\} 0$/m);
});

test('unusual paths and methods are rejected', async (t) => {
  const { manager, port } = await setUp(t);
  const cases: readonly (readonly [string, number])[] = [
    ['GET /../../etc/passwd', 404],
    ['POST /poll/../healthz', 404],
    ['POST /poll/%2e%2e', 404],
    ['POST /poll/', 404],
    [`POST /poll/${ID}/`, 404],
    [`POST /poll/${ID}?x=1`, 404],
    [`POST //poll/${ID}`, 404],
    [`POST /poll/${'a'.repeat(65)}`, 404],
    ['POST /poll/a%00b', 404],
    ['POST /poll/\u00e9', 400],
    ['GET http://example.com/healthz', 404],
    ['GET /HEALTHZ', 404],
    ['GET /healthz?verbose', 404],
    [`GET /poll/${ID}`, 405],
    [`PROPFIND /poll/${ID}`, 405],
    ['POST /healthz', 405],
    ['DELETE /metrics', 405],
    ['TRACE /healthz', 405],
    ['BREW /healthz', 400],
    ['GET', 400],
    ['\0\x01\x02', 400],
  ];
  for (const [line, status] of cases) {
    const answer = await raw(
      connectPlain(port, '127.0.0.1'),
      `${line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
    );
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), JSON.stringify(line));
  }
  assert.equal(manager.received.length, 0);
});

test('oversized headers and bodies, smuggled lengths and slow senders are cut off', async (t) => {
  const { manager, port, url } = await setUp(t, { header_ms: 2_000, body_ms: 2_000, body_bytes_max: 1_000 });
  const send = (text: string): Promise<string> => raw(connectPlain(port, '127.0.0.1'), text);
  const start = `POST /poll/${ID} HTTP/1.1\r\nhost: localhost\r\n`;
  const envelope = Object.entries(headersOf(seal('poll', {})))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  assert.match(await send(`${start}x: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1.1 431 /);
  assert.match(await send(`${start}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n`), /^HTTP\/1.1 400 /);
  assert.match(
    await send(`${start}${envelope}content-length: 100000\r\nconnection: close\r\n\r\n`),
    /^HTTP\/1.1 400 .*MALFORMED/s,
  );
  const chunk = `${(600).toString(16)}\r\n${'a'.repeat(600)}\r\n`;
  assert.match(
    await send(`${start}${envelope}transfer-encoding: chunked\r\n\r\n${chunk}${chunk}`),
    /^HTTP\/1.1 400 .*MALFORMED/s,
  );
  assert.match(await send(start), /^HTTP\/1.1 408 /);
  assert.match(await send(`${start}content-length: 10\r\n\r\n12345`), /^HTTP\/1.1 408 /);
  assert.equal(manager.received.length, 0);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

test('a disconnected caller is reported to the manager, and others are served meanwhile', async (t) => {
  const { manager, url } = await setUp(t);
  const waiting = Promise.withResolvers<undefined>();
  manager.wait = waiting.promise;
  const request = seal('poll', { correlation_id: ID, wait_secs: 20 });
  const abort = new AbortController();
  const options = { method: 'POST', body: Buffer.from(request.payload), headers: headersOf(request) };
  const call = fetch(`${url}/poll/${ID}`, { ...options, signal: abort.signal }).catch(() => 'gone');
  await eventually(() => manager.received.length === 1, 'the poll has arrived');
  abort.abort();
  assert.equal(await call, 'gone');
  await eventually(() => manager.aborted === 1, 'the signal aborts');
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  waiting.resolve(undefined);
});

test('rejects web pages: neither DNS rebinding nor cross-origin requests work', async (t) => {
  const { port } = await setUp(t);
  const get = (...headers: string[]): Promise<string> =>
    raw(
      connectPlain(port, '127.0.0.1'),
      ['GET /metrics HTTP/1.1', 'connection: close', ...headers, '', ''].join('\r\n'),
    );
  for (const host of [`127.0.0.1:${port}`, 'localhost', `[::1]:${port}`, '127.0.0.2']) {
    assert.match(await get(`host: ${host}`), /^HTTP\/1.1 200 /);
  }
  for (const host of ['evil.test', `evil.test:${port}`, '127.0.0.1.evil.test', 'localhost.evil.test', '192.168.0.1']) {
    assert.match(await get(`host: ${host}`), /^HTTP\/1.1 403 /);
  }
  assert.match(await get('host: localhost', 'sec-fetch-site: cross-site'), /^HTTP\/1.1 403 /);
  assert.match(await get('host: localhost', 'origin: http://localhost:1'), /^HTTP\/1.1 403 /);
});

test('with TLS: only version 1.3, only known certificates, and no plain text', async (t) => {
  const { authority, server, client, stranger } = await certificates();
  const tls = { cert: server.pem, key: server.key, ca: authority.pem };
  const { manager, port } = await setUp(t, {}, tls);
  const get = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
  const over = (more: object): Promise<string> =>
    raw(connectTls({ port, host: '127.0.0.1', ca: authority.pem, ...more }), get);
  assert.match(await over({ cert: client.pem, key: client.key }), /^HTTP\/1.1 200 /);
  assert.equal(await over({}), '');
  assert.equal(await over({ cert: stranger.pem, key: stranger.key }), '');
  assert.equal(await over({ cert: client.pem, key: client.key, maxVersion: 'TLSv1.2' }), '');
  assert.doesNotMatch(await raw(connectPlain(port, '127.0.0.1'), get), /200/);
  assert.equal(manager.received.length, 0);
});

test('requires TLS beyond loopback', async () => {
  const { registry } = createRemoteMetrics();
  const given = { manager: new PolledManager(), registry, port: 0, tls: null, clock: systemClock, log: silentLogger };
  for (const host of ['0.0.0.0', '::'])
    await assert.rejects(async () => openHttpListener({ ...given, host }), /certificate/);
});
