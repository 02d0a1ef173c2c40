/** Requests that are served without the framework: what they are answered is what the framework answers. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';

import type { AuditRecord } from '@heddle/base/vocabulary/audit';
import { HeddleError } from '@heddle/base/errors';
import { silentLogger, type Logger } from '@heddle/base/log';
import { createTestServer, task, type TestServer, type TestServerOptions } from '@heddle/test-support/http/server';

const ID = '00000000-0000-7000-8000-000000000000';
const JSON_TYPE = 'application/json';

interface Given {
  method: 'PUT' | 'POST';
  path: string;
  body: string;
  headers?: Record<string, string>;
}

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

interface Served extends TestServer {
  port: number;
  /** Sends a request over a connection of its own. */
  send: (given: Given) => Promise<Answer>;
  /** The same through the framework alone. */
  inject: (given: Given) => Promise<Answer>;
  /** Handlers that the framework has run. */
  frameworkRuns: () => number;
}

async function serve(context: TestContext, options: TestServerOptions = {}): Promise<Served> {
  const server = await createTestServer(options);
  const { app } = server;
  let runs = 0;
  const count = (): void => void (runs += 1);
  subscribe('tracing:fastify.request.handler:start', count);
  context.after(async () => {
    unsubscribe('tracing:fastify.request.handler:start', count);
    await app.close();
  });
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  return {
    ...server,
    port,
    frameworkRuns: () => runs,
    send: async (given) => parsed(await exchange(port, bytesOf(given))),
    async inject({ method, path, body, headers }) {
      const given = { 'content-type': JSON_TYPE, host: 'localhost', ...headers };
      const response = await app.inject({ method, url: path, payload: body, headers: given });
      return { status: response.statusCode, headers: textsOf(response.headers), body: response.body };
    },
  };
}

function textsOf(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

function bytesOf({ method, path, body, headers = {} }: Given): string {
  const all = {
    host: 'localhost',
    'content-type': JSON_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Sends bytes; returns all that the server answers until it ends the connection. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8');
  socket.write(bytes);
  let answer = '';
  for await (const part of socket) answer += part as string;
  return answer;
}

function parsed(text: string): Answer {
  const end = text.indexOf('\r\n\r\n');
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 2),
  ]);
  return {
    status: Number(first!.split(' ')[1]),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: text.slice(end + 4),
  };
}

/** An answer without what differs from one request to the next, and between a connection and none. */
function lasting({ status, headers, body }: Answer): unknown {
  const { date: _date, connection: _connection, 'content-length': _length, ...others } = headers;
  const withoutIds = (text: string): string => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID');
  const names = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, withoutIds(value)]));
  return { status, headers: names, body: withoutIds(body) };
}

function withoutPlace({ actor, action, status }: Omit<AuditRecord, 'at'>): Partial<AuditRecord> {
  return { actor, action, status };
}

const post = (body: unknown, headers?: Record<string, string>): Given => ({
  method: 'POST',
  path: '/task',
  body: JSON.stringify(body),
  ...(headers === undefined ? {} : { headers }),
});
const put = (id: string, body: unknown, headers?: Record<string, string>): Given => ({
  ...post(body, headers),
  method: 'PUT',
  path: `/task/${id}`,
});

test('plain requests are answered as the framework answers them, without it', async (context) => {
  const { send, inject, stub, frameworkRuns } = await serve(context);
  await inject(post([task()]));
  const [id] = stub.tasks.keys();
  const before = frameworkRuns();
  const requests: [Given, number][] = [
    [post([task({ name: 'größer' })]), 201],
    [post([task(), task({ id: 'b' })], { prefer: 'return=minimal' }), 201],
    [post([task()], { 'idempotency-key': 'one', 'content-type': 'application/json; charset=utf-8' }), 201],
    [post([]), 204],
    [put(id!, { new_success: 1 }), 202],
    [put(id!, { new_success: 1, new_failures: 2 }, { 'idempotency-key': 'two' }), 202],
  ];
  const answers: [Given, Answer][] = [];
  for (const [given, status] of requests) {
    const answer = await send(given);
    assert.equal(answer.status, status, answer.body);
    assert.equal(answer.headers['x-frame-options'], 'DENY');
    answers.push([given, answer]);
  }
  assert.equal(frameworkRuns(), before);
  for (const [given, answer] of answers) assert.deepEqual(lasting(answer), lasting(await inject(given)));
  assert.equal(frameworkRuns(), before + answers.length);
});

test('failures are answered by the framework, with the id of their batch', async (context) => {
  const { send, inject, stub } = await serve(context);
  await inject(post([task()]));
  const [id] = stub.tasks.keys();
  stub.set(id!, { state: 'succeeded' });
  const failures: [Given, number, RegExp][] = [
    [{ ...post(0), body: '[{' }, 400, /"MALFORMED_BODY".*line 1/],
    [{ ...post(0), body: '' }, 400, /is required/],
    [post([task({ kind: 7 })]), 400, /tasks\[0\]\.kind.*"batch_id"/],
    [{ ...post(0), body: '[{"name":"a","name":"b","kind":"k"}]' }, 400, /more than once/],
    [post([task()], { 'idempotency-key': 'ü' }), 400, /idempotency-key/],
    [put(id!, {}), 400, /new_success/],
    [put(id!, { new_success: -1 }), 400, /new_success/],
    [put(ID, { new_success: 1 }), 404, /NOT_FOUND/],
    [put(id!, { new_success: 1 }), 409, /CONFLICT/],
  ];
  for (const [given, status, text] of failures) {
    const answer = await send(given);
    assert.equal(answer.status, status, answer.body);
    assert.match(answer.body, text);
    assert.match(answer.headers['content-type']!, /^application\/problem\+json/);
    assert.deepEqual(lasting(answer), lasting(await inject(given)));
  }
  stub.failure = new HeddleError('DATABASE_UNAVAILABLE', undefined, { retryAfterSecs: 7.2 });
  const away = await send(post([task()]));
  assert.deepEqual([away.status, away.headers['retry-after']], [503, '8']);
  stub.failure = new Error('secret cause');
  const broken = await send(post([task()]));
  assert.deepEqual([broken.status, broken.body.includes('secret')], [500, false]);
});

test('a submission whose kinds cannot be checked is answered without warnings, and logged, served either way', async (context) => {
  const warnings: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message) };
  const { send, inject, stub, frameworkRuns } = await serve(context, { log });
  stub.unknownKinds = () => Promise.reject(new Error('the database is away'));
  assert.equal((await send(post([task()]))).status, 201);
  assert.equal(frameworkRuns(), 0);
  assert.equal((await inject(post([task()]))).status, 201);
  assert.deepEqual(
    warnings,
    Array.from({ length: 2 }, () => 'could not check the kinds of a submission'),
  );
});

test('requests that are not plain are served by the framework', async (context) => {
  const { port, send, stub, inject, frameworkRuns } = await serve(context, {
    config: { allowedHosts: [], trustedProxies: ['10.0.0.0/8'] },
  });
  await inject(post([task()]));
  const [id] = stub.tasks.keys();
  const others: [Given, number, number][] = [
    [{ ...post([task()]), path: '/task?batch_name=a' }, 201, 1],
    [{ ...put(id!, { new_success: 1 }), path: `/task/${id!.toUpperCase()}` }, 202, 1],
    [
      post([
        task({ name: 'x'.repeat(255), metadata: { text: 'x'.repeat(60_000) } }),
        task({ metadata: { text: 'x'.repeat(9_000) } }),
      ]),
      201,
      1,
    ],
    [post([task()], { cookie: 'a=b' }), 201, 1],
    [post([task()], { 'x-forwarded-for': '10.0.0.1' }), 201, 1],
    [post([task()], { authorization: 'Bearer none' }), 201, 1],
    [post([task()], { origin: 'https://evil.example' }), 403, 0],
    [post([task()], { 'sec-fetch-site': 'cross-site' }), 403, 0],
    [post([task()], { host: 'evil.example' }), 403, 0],
    [post([task()], { 'content-type': 'text/plain' }), 415, 0],
  ];
  for (const [given, status, runs] of others) {
    const before = frameworkRuns();
    const answer = await send(given);
    assert.equal(answer.status, status, `${JSON.stringify(given.headers)} ${answer.body}`);
    assert.equal(frameworkRuns(), before + runs, JSON.stringify(given.headers));
  }
  // Its length is not known in advance.
  const { headers: _headers, ...chunked } = post([task()]);
  const length = Buffer.byteLength(chunked.body);
  const text = bytesOf({ ...chunked, headers: { 'transfer-encoding': 'chunked' } })
    .replace(/content-length: .*\r\n/, '')
    .replace(chunked.body, `${length.toString(16)}\r\n${chunked.body}\r\n0\r\n\r\n`);
  assert.equal(parsed(await exchange(port, text)).status, 201);
});

test('where tokens are required, they authorize, name the caller and are refused as elsewhere', async (context) => {
  const records: Omit<AuditRecord, 'at'>[] = [];
  const audit = {
    entryOf: JSON.stringify,
    record: (record: Omit<AuditRecord, 'at'>) => Promise.resolve(void records.push(record)),
    list: () => Promise.resolve([]),
  };
  const { send, inject, tokens, stub, frameworkRuns } = await serve(context, { audit, config: { authRequired: true } });
  tokens.add('hdl_submitter', ['submit']);
  tokens.add('hdl_operator', ['operate']);
  tokens.add('hdl_gone', ['admin'], { revoked_at: 1 });
  const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
  const stored = await send(post([task()], as('hdl_submitter')));
  assert.equal(stored.status, 201);
  const [id] = stub.tasks.keys();
  assert.equal((await send(put(id!, { new_success: 1 }, as('hdl_operator')))).status, 202);
  assert.equal(frameworkRuns(), 0);
  assert.deepEqual(records, [
    {
      actor: 'hdl_submitter',
      action: 'POST /task',
      object: stored.headers['x-batch-id'],
      status: 201,
      address: '127.0.0.1',
    },
  ]);
  const refused: [Given, number][] = [
    [post([task()]), 401],
    [post([task()], as('hdl_gone')), 401],
    [post([task()], as('hdl_unknown')), 401],
    [post([task()], as(`hdr_${ID}.${'a'.repeat(43)}`)), 401],
    [post([task()], as('hdl_operator')), 403],
    [put(id!, { new_success: 1 }, as('hdl_submitter')), 403],
    [post([task({ kind: 'Command' })], as('hdl_submitter')), 403],
  ];
  for (const [given, status] of refused) {
    records.length = 0;
    const answer = await send(given);
    assert.equal(answer.status, status, answer.body);
    const recorded: Partial<AuditRecord>[] = records.splice(0).map(withoutPlace);
    assert.deepEqual(lasting(answer), lasting(await inject(given)));
    assert.deepEqual(recorded, records.map(withoutPlace));
  }
});

test('every request is counted and logged once, whether it succeeds or not', async (context) => {
  const lines: string[] = [];
  const write = (_fields: object, message: string): void => void lines.push(message);
  const log: Logger = { ...silentLogger, writesDebug: true, debug: write, info: write };
  const { send, stub, app } = await serve(context, { log });
  assert.equal((await send(post([task()]))).status, 201);
  const [id] = stub.tasks.keys();
  assert.equal((await send(put(id!, { new_success: 1 }))).status, 202);
  assert.equal((await send(put(id!, {}))).status, 400);
  assert.deepEqual(lines, ['POST /task 201', `PUT /task/${id!} 202`, `PUT /task/${id!} 400`]);
  const { body } = await app.inject('/metrics');
  const counted = [...body.matchAll(/^heddle_http_requests_total\{(.*)\} (\d+)$/gm)].map(([, labels, count]) => [
    labels,
    count,
  ]);
  assert.deepEqual(counted, [
    ['route="/task",method="POST",status="201"', '1'],
    ['route="/task/:task_id",method="PUT",status="202"', '1'],
    ['route="/task/:task_id",method="PUT",status="400"', '1'],
  ]);
  assert.match(body, /^heddle_http_request_seconds_count\{route="\/task",method="POST"\} 1$/m);
});

test('a connection has a limited number of them, of which a failed one is one', async (context) => {
  const { port, stub } = await serve(context);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const submitted = stub.submit.bind(stub);
  stub.submit = async (submissions) => {
    await released;
    return submitted(submissions);
  };
  const waiting = bytesOf(post([task()], { connection: 'keep-alive' }));
  const failing = bytesOf(put(ID, {}, { connection: 'keep-alive' }));
  const last = bytesOf(post([task()]));
  const tooMany = await exchange(port, waiting.repeat(33)).catch(() => '');
  assert.equal(tooMany, '');
  const most = exchange(port, waiting.repeat(20) + failing.repeat(11) + last);
  release();
  const answers = await most;
  assert.equal(answers.match(/HTTP\/1\.1 201 /g)?.length, 21);
  assert.equal(answers.match(/HTTP\/1\.1 400 /g)?.length, 11);
});

test('a caller that leaves before its body has arrived stores nothing, and harms no one', async (context) => {
  const { port, send, stub } = await serve(context);
  const bytes = bytesOf(post([task()]));
  const socket = connect(port, '127.0.0.1');
  // Once the first one is answered, the beginning of the second one has arrived, too.
  socket.write(bytesOf(post([], { connection: 'keep-alive' })) + bytes.slice(0, -5));
  await once(socket, 'data');
  socket.destroy();
  assert.equal((await send(post([task()]))).status, 201);
  assert.equal(stub.submissions.length, 1);
  // A body in parts is put together.
  const slow = connect(port, '127.0.0.1');
  slow.setEncoding('utf8');
  slow.write(bytes.slice(0, -5));
  await send(post([]));
  slow.write(bytes.slice(-5));
  let answer = '';
  for await (const part of slow) answer += part as string;
  assert.equal(parsed(answer).status, 201);
});
