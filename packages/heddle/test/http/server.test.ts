/** What the server does around its routes: errors, limits, headers, health, logs, closing. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';

import type { InjectOptions } from 'fastify';

import { HeddleError } from '@heddle/base/errors';
import { createLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import {
  createTestServer,
  task,
  type Problem,
  type TestServer,
  type TestServerOptions,
} from '@heddle/test-support/http/server';

const ID = '00000000-0000-7000-8000-000000000000';

async function serverFor(context: TestContext, options: TestServerOptions = {}): Promise<TestServer> {
  const server = await createTestServer(options);
  context.after(() => server.app.close());
  return server;
}

test('rejections have their own statuses, as problem documents', async (context) => {
  const { app } = await serverFor(context, { config: { bodyLimitBytes: 1000 } });
  const json = { 'content-type': 'application/json' };
  const cases: [InjectOptions, number, string, RegExp][] = [
    [{ method: 'GET', url: '/nothing' }, 404, 'NOT_FOUND', /^path: no route for "\/nothing"/],
    [
      { method: 'PATCH', url: '/task' },
      405,
      'METHOD_NOT_ALLOWED',
      /^method: must be one of GET, HEAD, POST, not PATCH/,
    ],
    [{ method: 'POST', url: `/task/${ID}` }, 405, 'METHOD_NOT_ALLOWED', /DELETE, GET, HEAD, PATCH, PUT/],
    [
      { method: 'POST', url: '/task', headers: { 'content-type': 'text/plain' }, payload: '[]' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
      /^content-type: /,
    ],
    [{ method: 'POST', url: '/task', headers: json, payload: '[' }, 400, 'MALFORMED_BODY', /line 1, column 2/],
    [
      { method: 'POST', url: '/task', headers: json, payload: `[${' '.repeat(1000)}]` },
      413,
      'BODY_TOO_LARGE',
      /at most 1000 bytes/,
    ],
    [{ method: 'POST', url: '/task' }, 400, 'VALIDATION_FAILED', /^body: is required/],
    [{ method: 'PUT', url: `/task/${ID}` }, 400, 'VALIDATION_FAILED', /^body: is required/],
    [{ method: 'GET', url: '/task/%zz' }, 400, 'VALIDATION_FAILED', /^path: /],
    [{ method: 'GET', url: '/task?page=1&page=2' }, 400, 'INVALID_QUERY', /^page: is given more than once/],
    [{ method: 'GET', url: '/task?stauts=Running' }, 400, 'INVALID_QUERY', /^stauts: .*did you mean "status"/],
    [
      { method: 'GET', url: '/task?page_size=101' },
      400,
      'INVALID_QUERY',
      /^page_size: must be between 1 and 100, not 101/,
    ],
    [{ method: 'GET', url: '/task?name=%00' }, 400, 'INVALID_QUERY', /^name: /],
    [{ method: 'GET', url: '/task?metadata={' }, 400, 'INVALID_QUERY', /^metadata: is not valid JSON/],
    [
      { method: 'PUT', url: '/v1/rules/a%20b', headers: json, payload: '{}' },
      400,
      'VALIDATION_FAILED',
      /^name: must be 1 to 100/,
    ],
    [
      {
        method: 'POST',
        url: '/task',
        headers: { ...json, 'idempotency-key': 'ü' },
        payload: '[{"name":"a","kind":"b"}]',
      },
      400,
      'VALIDATION_FAILED',
      /^idempotency-key: /,
    ],
    [{ method: 'GET', url: '/view' }, 404, 'NOT_FOUND', /^console: is not built/],
  ];
  for (const [request, status, code, detail] of cases) {
    const response = await app.inject(request);
    const problem = response.json<Problem>();
    const what = `${JSON.stringify(request)} ${response.body}`;
    assert.deepEqual([response.statusCode, problem.status, problem.code], [status, status, code], what);
    assert.match(String(response.headers['content-type']), /^application\/problem\+json/);
    assert.match(problem.details[0]!, detail, what);
    assert.equal(typeof problem.error, 'string');
  }
  const notAllowed = await app.inject({ method: 'PATCH', url: '/task' });
  assert.equal(notAllowed.headers.allow, 'GET, HEAD, POST');
  const refused = await app.inject({ method: 'POST', url: '/task', payload: [{}] });
  assert.match(refused.json<Problem>().batch_id!, /^[0-9a-f-]{36}$/);
});

/** The response of the server to bytes that no HTTP client would send. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  socket.write(bytes, 'latin1');
  let answer = '';
  for await (const part of socket) answer += part as string;
  return answer;
}

test('malformed requests are rejected with a problem document, too', async (context) => {
  const { app } = await serverFor(context);
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  for (const [bytes, status, code] of [
    ['GET /task/[object Object] HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    ['\u0016\u0003\u0001 no HTTP at all\r\n\r\n', 400, 'MALFORMED_REQUEST'],
    [`GET /task?name=${'x'.repeat(17_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431, 'HEADERS_TOO_LARGE'],
  ] as const) {
    const answer = await answerTo(port, bytes);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), code);
    assert.match(answer, /\r\ncontent-type: application\/problem\+json/, code);
    const problem = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Problem;
    assert.deepEqual([problem.status, problem.code], [status, code]);
    assert.match(problem.details[0]!, /^request: /);
  }
});

test('a connection has a limited number of concurrent requests; further pipelined ones cost nothing', async (context) => {
  const { app } = await serverFor(context);
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  const request = 'GET /task?page_size=1 HTTP/1.1\r\nhost: localhost\r\n\r\n';
  // The connection ends while there is more to send.
  await answerTo(port, request.repeat(5_000)).catch(() => '');
  const counted = async (): Promise<number> => {
    const { body } = await app.inject('/metrics');
    const samples = body.matchAll(/^heddle_http_requests_total\{route="\/task",[^}]*\} (\d+)$/gm);
    return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  assert.ok((await counted()) <= 32, `${await counted()} requests were answered`);
  const whole = await answerTo(port, `${request.repeat(3)}${request.replace('host', 'connection: close\r\nhost')}`);
  assert.equal(whole.match(/HTTP\/1\.1 200 /g)?.length, 4);
});

test('an unavailable database is 503 with Retry-After on every route; an unexpected error is 500 without its cause', async (context) => {
  const { app, stub } = await serverFor(context);
  stub.failure = new HeddleError('DATABASE_UNAVAILABLE', undefined, { retryAfterSecs: 7.2 });
  for (const [method, url, payload] of [
    ['POST', '/task', [task()]],
    ['GET', '/task', undefined],
    ['GET', `/task/${ID}`, undefined],
    ['PUT', `/task/${ID}`, { new_success: 1 }],
    ['PATCH', `/task/${ID}`, { status: 'Success' }],
    ['DELETE', `/task/${ID}`, undefined],
    ['GET', `/v1/batches/${ID}/events`, undefined],
  ] as const) {
    const response = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    assert.equal(response.statusCode, 503, `${method} ${url}`);
    assert.equal(response.headers['retry-after'], '8');
    assert.equal(response.json<Problem>().code, 'DATABASE_UNAVAILABLE');
  }
  stub.failure = new Error('the password is hunter2');
  const broken = await app.inject('/task');
  assert.equal(broken.statusCode, 500);
  assert.doesNotMatch(broken.body, /hunter2/);
});

test('bodies of many small values are rejected before anything is built, by every route', async (context) => {
  const { app } = await serverFor(context);
  const many = (count: number, one: (index: number) => string): string =>
    Array.from({ length: count }, (_, i) => one(i)).join();
  const attacks = {
    elements: `[${many(1_000_000, () => '{}')}]`,
    values: `{"root":{"children":[${many(2_000_000, () => '1')}]}}`,
    names: `{${many(150_000, (i) => `"k${i}":1`)}}`,
    small: `{"kinds":[${many(100_000, () => '1')}]}`,
    large: `{"metadata":{"a":"${'x'.repeat(600 * 1024)}"}}`,
  };
  const handed: [keyof typeof attacks, 'PATCH' | 'POST' | 'PUT', string, RegExp][] = [
    ['elements', 'POST', '/task', /^tasks: must have at most 100000 elements/],
    ['values', 'POST', '/task', /^body: must hold at most 2000000 values/],
    ['values', 'POST', '/v1/workflows', /^body: must hold at most 2000000 values/],
    ['names', 'POST', '/v1/jobs', /^body: must hold at most 100000 different names/],
    ['names', 'POST', `/v1/work/${ID}/children`, /^body: must hold at most 100000 different names/],
    ['names', 'POST', `/v1/work/${ID}/complete`, /^body: must hold at most 50000 different names/],
    ['small', 'POST', '/v1/work/claim', /^body: must hold at most 100000 values/],
    ['small', 'PATCH', `/task/${ID}`, /^body: must hold at most 100000 values/],
    ['small', 'PUT', `/task/${ID}`, /^body: must hold at most 100000 values/],
    ['small', 'PUT', '/v1/actions/x', /^body: must hold at most 100000 values/],
    ['large', 'PATCH', `/task/${ID}`, /^body: must have at most 524288 bytes/],
    ['large', 'POST', '/v1/work/claim', /^body: must have at most 524288 bytes/],
    ['large', 'POST', `/v1/work/${ID}/heartbeat`, /^body: must have at most 524288 bytes/],
  ];
  for (const [attack, method, url, expected] of handed) {
    const payload = attacks[attack];
    const answer = await app.inject({ method, url, headers: { 'content-type': 'application/json' }, payload });
    assert.match(answer.json<Problem>().details[0]!, expected, `${attack}: ${method} ${url}`);
  }
});

test('health includes the pool, and degrades; readiness is stricter; liveness needs no database', async (context) => {
  let healthy = true;
  const stats = { size: 10, idle: 5, waiting: 0 };
  const { app } = await serverFor(context, {
    database: { ping: () => (healthy ? Promise.resolve() : Promise.reject(new Error('away'))), stats: () => stats },
  });
  const well = await app.inject('/health');
  assert.equal(well.statusCode, 200);
  const { status, database, pool_size, pool_idle } = well.json<Record<string, unknown>>();
  assert.deepEqual(
    { status, database, pool_size, pool_idle },
    { status: 'ok', database: 'healthy', pool_size: 10, pool_idle: 5 },
  );
  assert.deepEqual((await app.inject('/ready')).json(), { status: 'ready' });
  Object.assign(stats, { idle: 0, waiting: 3 });
  assert.equal((await app.inject('/health')).statusCode, 200);
  assert.equal((await app.inject('/ready')).statusCode, 503);
  Object.assign(stats, { idle: 5, waiting: 0 });
  healthy = false;
  const ill = await app.inject('/health');
  assert.equal(ill.statusCode, 503);
  assert.equal(ill.json<{ status: string }>().status, 'degraded');
  assert.equal((await app.inject('/ready')).statusCode, 503);
  const alive = await app.inject('/live');
  assert.deepEqual([alive.statusCode, alive.json()], [200, { status: 'alive' }]);
});

test('an unresponsive database does not delay the health check', async (context) => {
  const { app } = await serverFor(context, {
    config: { healthTimeoutMs: 20 },
    database: { ping: () => new Promise(() => undefined), stats: () => ({ size: 1, idle: 0, waiting: 0 }) },
  });
  assert.equal((await app.inject('/health')).statusCode, 503);
});

test('responses have the headers that protect the console', async (context) => {
  const { app } = await serverFor(context);
  for (const url of ['/health', '/nothing']) {
    const { headers } = await app.inject(url);
    assert.match(String(headers['content-security-policy']), /default-src 'self'.*frame-ancestors 'none'/);
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
  }
});

test('the console is served at / and /view, its assets are cached forever, and nothing else is served', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-page-'));
  context.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'assets'));
  await writeFile(join(directory, 'index.html'), '<!doctype html><title>Heddle</title>');
  await writeFile(join(directory, 'assets', 'main-1.js'), 'export {}');
  await writeFile(join(directory, 'secret.txt'), 'secret');
  const { app } = await serverFor(context, { config: { pageDirectory: directory, authRequired: true } });
  for (const url of ['/', '/view', '/view?batch=1', '/workflows', '/jobs']) {
    const page = await app.inject(url);
    assert.equal(page.statusCode, 200);
    assert.match(String(page.headers['content-type']), /^text\/html/);
    assert.match(String(page.headers['cache-control']), /max-age=0/);
  }
  const script = await app.inject('/assets/main-1.js');
  assert.equal(script.statusCode, 200);
  assert.match(String(script.headers['cache-control']), /immutable/);
  for (const url of [
    '/assets/none.js',
    '/assets/../secret.txt',
    '/assets/%2e%2e/secret.txt',
    '/secret.txt',
    '/assets/',
  ]) {
    const response = await app.inject(url);
    assert.ok(response.statusCode >= 400 && response.statusCode < 500, `${url} ${response.statusCode}`);
    assert.doesNotMatch(response.body, /^secret$/);
  }
});

test('requests are counted by route and logged in one line without query or token', async (context) => {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } });
  const server = await serverFor(context, { log });
  await server.app.inject({
    url: `/task/${ID}?attempt=1&signature=c2VjcmV0`,
    headers: { authorization: 'Bearer hdl_secret' },
  });
  await eventually(() => lines.length > 0, 'the line of the request');
  assert.equal(lines.length, 1);
  assert.doesNotMatch(lines[0]!, /secret|c2VjcmV0|signature/);
  const { method, path, status } = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.deepEqual([method, path, status], ['GET', `/task/${ID}`, 403]);
  const metrics = (await server.app.inject('/metrics')).body;
  assert.match(metrics, /heddle_http_requests_total\{route="\/task\/:task_id",method="GET",status="403"\} 1/);
});

/** Lets other requests arrive meanwhile, as during a commit. */
async function whileOthersArrive(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
}

describe('batching', () => {
  test('concurrent submissions share a call to the engine, and a rejected one does not affect the others', async (context) => {
    const { app, stub } = await serverFor(context);
    const submit = (name: string, key?: string) =>
      app.inject({
        method: 'POST',
        url: '/task',
        payload: [task({ name })],
        headers: key ? { 'idempotency-key': key } : {},
      });
    await submit('first', 'k');
    stub.flushes.length = 0;
    const store = stub.submit.bind(stub);
    stub.submit = async (submissions) => {
      await whileOthersArrive();
      return store(submissions);
    };
    const answers = await Promise.all([
      ...Array.from({ length: 50 }, (_, n) => submit(`n-${n}`)),
      submit('other', 'k'),
    ]);
    assert.deepEqual(
      answers.map(({ statusCode }) => statusCode),
      [...Array.from({ length: 50 }, () => 201), 422],
    );
    assert.ok(stub.flushes.length < 20, `${stub.flushes.length} calls for 51 submissions`);
    for (const [n, answer] of answers.slice(0, 50).entries()) {
      assert.equal(answer.json<{ name: string }[]>()[0]!.name, `n-${n}`);
    }
  });

  test('concurrent counts share a call', async (context) => {
    const { app, stub } = await serverFor(context);
    const created = await app.inject({ method: 'POST', url: '/task', payload: [task()] });
    const [{ id }] = created.json<{ id: string }[]>() as [{ id: string }];
    stub.flushes.length = 0;
    const { progress } = stub;
    stub.progress = async (reports) => {
      await whileOthersArrive();
      return progress(reports);
    };
    await Promise.all(
      Array.from({ length: 100 }, () => app.inject({ method: 'PUT', url: `/task/${id}`, payload: { new_success: 1 } })),
    );
    assert.equal(stub.tasks.get(id)!.success_count, 100);
    assert.ok(stub.flushes.length < 50, `${stub.flushes.length} calls for 100 counts`);
  });
});

test('closing completes running requests, and accepts no others on open connections', async () => {
  const { app, stub } = await createTestServer();
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const { listTasks } = stub;
  let entered = false;
  stub.listTasks = async (filter) => {
    entered = true;
    await held;
    return listTasks(filter);
  };
  const underWay = fetch(`${address}/task`);
  await eventually(() => entered, 'the request is under way');
  const closed = app.close();
  release();
  assert.equal((await underWay).status, 200);
  await closed;
  const port = Number(new URL(address).port);
  await assert.rejects(
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy()));
      socket.once('error', reject);
    }),
  );
});
