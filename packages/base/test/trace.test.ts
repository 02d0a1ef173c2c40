import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, test } from 'node:test';

import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';

import { createLogger } from '../src/log.ts';
import { targetOf, type OtlpProtocol } from '../src/otlp.ts';
import { createTracer, parseTraceparent, type Tracing } from '../src/trace.ts';
import { SpanCollector } from '@heddle/test-support/span-collector';

const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const CALLER_TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
/** Milliseconds since 1970; what is below the age of the process counts from its start. */
const MOMENT = 1_800_000_000_000;

describe('tracing off', () => {
  test('hands the caller’s trace context on unchanged, and none if there is none', async () => {
    const tracing = await createTracer({ enabled: false, endpoint: null, serviceName: 'x', samplingRatio: 1 });
    assert.equal(tracing.enabled, false);
    const seen = (parent: string | null): Promise<string | null> =>
      tracing.span('a', { parent }, (span) => Promise.resolve(tracing.traceparentOf(span)));
    assert.equal(await seen(CALLER), CALLER);
    assert.equal(await seen(null), null);
    assert.equal(await seen('nonsense'), null);
    await assert.rejects(
      tracing.span('a', {}, () => Promise.reject(new Error('thrown on'))),
      /thrown on/,
    );
    await tracing.shutdown();
  });

  test('loads nothing of the SDK', () => {
    const script = `
      import { createTracer } from ${JSON.stringify(new URL('../src/trace.ts', import.meta.url).href)};
      import { createRequire } from 'node:module';
      await createTracer({ enabled: false, endpoint: null, serviceName: 'x', samplingRatio: 1 });
      const loaded = Object.keys(createRequire(${JSON.stringify(import.meta.url)}).cache);
      console.log(loaded.filter((path) => path.includes('sdk-trace') || path.includes('otlp')).length);`;
    assert.equal(runScript(script).stdout.trim(), '0');
  });
});

function runScript(script: string): { stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8', timeout: 30_000 });
}

describe('tracing on', () => {
  let collector: SpanCollector;

  before(async () => {
    collector = await SpanCollector.open();
  });
  beforeEach(() => {
    collector.requests = [];
  });
  after(() => collector[Symbol.asyncDispose]());

  function start(samplingRatio = 1): Promise<Tracing> {
    const { endpoint } = collector;
    return createTracer({ enabled: true, endpoint, serviceName: 'task-runner', samplingRatio });
  }

  test('spans reach the collector with service, kind, attributes, and parents across processes and calls', async () => {
    const tracing = await start();
    let handedOn: string | null = null;
    const result = await tracing.span(
      'POST /task',
      { kind: 'server', parent: CALLER, attributes: { 'http.route': '/task', tasks: 2 } },
      () =>
        tracing.span('submit', {}, (inner) => {
          handedOn = tracing.traceparentOf(inner);
          return Promise.resolve(42);
        }),
    );
    await tracing.shutdown();
    assert.equal(result, 42);
    assert.deepEqual(
      collector.requests.map(({ method, url }) => [method, url]),
      [['POST', '/v1/traces']],
    );
    assert.deepEqual(collector.requests[0]?.body.resourceSpans[0]?.resource.attributes, [
      { key: 'service.name', value: { stringValue: 'task-runner' } },
    ]);
    const outer = collector.spans.find((span) => span.name === 'POST /task')!;
    const inner = collector.spans.find((span) => span.name === 'submit')!;
    assert.equal(outer.traceId, CALLER_TRACE);
    assert.equal(outer.parentSpanId, CALLER_SPAN);
    assert.equal(outer.kind, 2);
    assert.deepEqual(outer.attributes, [
      { key: 'http.route', value: { stringValue: '/task' } },
      { key: 'tasks', value: { intValue: 2 } },
    ]);
    assert.equal(inner.parentSpanId, outer.spanId);
    assert.equal(handedOn, `00-${CALLER_TRACE}-${inner.spanId}-01`);
  });

  test('a null parent starts a trace of its own, also inside another span', async () => {
    const tracing = await start();
    await tracing.span('outer', {}, () => tracing.span('loop', { parent: null }, () => Promise.resolve()));
    await tracing.shutdown();
    const [first, second] = collector.spans;
    assert.notEqual(first?.traceId, second?.traceId);
    assert.ok(!collector.spans.some((span) => span.parentSpanId !== undefined && span.parentSpanId !== ''));
  });

  test('an error is thrown on and stands on the span', async () => {
    const tracing = await start();
    await assert.rejects(
      tracing.span('failing', {}, () => Promise.reject(new Error('boom'))),
      /boom/,
    );
    await tracing.shutdown();
    const [span] = collector.spans;
    assert.deepEqual(span?.status, { code: 2, message: 'boom' });
    assert.deepEqual(
      span.events.map((event) => event.name),
      ['exception'],
    );
  });

  test('a span that has ended joins its trace under the ids by which others knew it before', async () => {
    const tracing = await start();
    const spanId = '00f067aa0ba902b7';
    const context = tracing.contextWithin(CALLER, spanId)!;
    assert.equal(context, `00-${CALLER_TRACE}-${spanId}-01`);
    const child = await tracing.span('child', { parent: context }, (span) => Promise.resolve(span.spanContext()));
    const events = [{ name: 'started', at: MOMENT + 500 }];
    tracing.record('attempt', {
      context,
      parent: CALLER,
      startedAt: MOMENT,
      endedAt: MOMENT + 1_000,
      events,
      error: 'late',
    });
    const own = tracing.newContext('workflow', spanId)!;
    tracing.record('workflow', { context: own, parent: null, startedAt: MOMENT + 2_000, endedAt: MOMENT + 1_000 });
    const unsampled = tracing.contextWithin(CALLER.replace(/1$/, '0'), spanId)!;
    tracing.record('unsampled', { context: unsampled, parent: CALLER, startedAt: MOMENT, endedAt: MOMENT + 1_000 });
    await tracing.shutdown();
    const [attempt, children, workflow] = ['attempt', 'child', 'workflow'].map((name) =>
      collector.spans.find((span) => span.name === name)!,
    );
    assert.equal(collector.spans.length, 3);
    assert.deepEqual([attempt!.traceId, attempt!.spanId, attempt!.parentSpanId], [CALLER_TRACE, spanId, CALLER_SPAN]);
    assert.deepEqual(
      [attempt!.startTimeUnixNano, attempt!.endTimeUnixNano],
      [`${MOMENT}000000`, `${MOMENT + 1_000}000000`],
    );
    assert.deepEqual(
      [attempt!.status, attempt!.events.map(({ name }) => name)],
      [{ code: 2, message: 'late' }, ['started']],
    );
    assert.deepEqual([children!.parentSpanId, children!.spanId], [spanId, child.spanId]);
    assert.deepEqual(parseTraceparent(own), { traceId: workflow!.traceId, spanId, traceFlags: 1, isRemote: true });
    assert.equal(workflow!.startTimeUnixNano, workflow!.endTimeUnixNano);
    assert.ok(workflow!.parentSpanId === undefined || workflow!.parentSpanId === '');
    assert.equal(tracing.contextWithin('nonsense', spanId), null);
  });

  test('the spans of a large set arrive, all of them', async () => {
    const tracing = await start();
    for (let n = 0; n < 10_000; n += 1) {
      const context = tracing.contextWithin(CALLER, (n + 1).toString(16).padStart(16, '0'))!;
      tracing.record('attempt', { context, parent: CALLER, startedAt: MOMENT, endedAt: MOMENT + 1_000 });
    }
    await tracing.shutdown();
    assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, 10_000);
  });

  test('the ratio decides for new traces, the caller for its own', async () => {
    const tracing = await start(0);
    const own = await tracing.span('own', { parent: null }, (s) => Promise.resolve(tracing.traceparentOf(s)));
    await tracing.span('callers', { parent: CALLER }, () => Promise.resolve());
    await tracing.span('unsampled', { parent: CALLER.replace(/1$/, '0') }, () => Promise.resolve());
    await tracing.shutdown();
    assert.match(own ?? '', /-00$/);
    assert.deepEqual(
      collector.spans.map((span) => span.name),
      ['callers'],
    );
  });
});

test('a collector that is away fails neither the spans nor the stop, and is logged', async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const lines: string[] = [];
  const tracing = await createTracer({
    enabled: true,
    endpoint: `http://127.0.0.1:${port}`,
    serviceName: 'x',
    samplingRatio: 1,
    log: createLogger({ level: 'warn', destination: { write: (line) => void lines.push(line) } }),
  });
  assert.equal(await tracing.span('a', {}, () => Promise.resolve('done')), 'done');
  await tracing.shutdown();
  assert.match(lines.join(''), /"level":"warn".*tracing/);
});

test('a missing package is an error that names what to install', () => {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier !== '@opentelemetry/sdk-trace-node') return next(specifier, context);
        throw Object.assign(new Error('not found'), { code: 'ERR_MODULE_NOT_FOUND' });
      },
    });
    const { createTracer } = await import(${JSON.stringify(new URL('../src/trace.ts', import.meta.url).href)});
    await createTracer({ enabled: true, endpoint: null, serviceName: 'x', samplingRatio: 1 }).catch((error) =>
      console.log(error.message),
    );`;
  const { stdout, stderr } = runScript(script);
  assert.match(
    stdout,
    /@opentelemetry\/sdk-trace-node is not installed: npm install @opentelemetry\/sdk-trace-node/,
    stderr,
  );
});

test('the port and the protocol say how spans go, and a path where to', () => {
  const cases: [string | null, OtlpProtocol | null, string][] = [
    [null, null, 'http/json http://localhost:4318/v1/traces'],
    [null, 'grpc', 'grpc http://localhost:4317'],
    [null, 'http/protobuf', 'http/protobuf http://localhost:4318/v1/traces'],
    ['http://localhost:4317', null, 'grpc http://localhost:4317'],
    ['https://collector.example:4317/ignored', null, 'grpc https://collector.example:4317'],
    ['http://localhost:4317', 'http/json', 'http/json http://localhost:4317/v1/traces'],
    ['http://localhost:5000', 'grpc', 'grpc http://localhost:5000'],
    ['https://collector.example/', null, 'http/json https://collector.example/v1/traces'],
    ['http://localhost:4318/v1/traces', null, 'http/json http://localhost:4318/v1/traces'],
    ['http://localhost:4318/otlp/traces?key=1', null, 'http/json http://localhost:4318/otlp/traces?key=1'],
  ];
  for (const [endpoint, protocol, expected] of cases) {
    const target = targetOf(endpoint, protocol);
    assert.equal(`${target.protocol} ${target.url}`, expected);
  }
});

test('spans reach a collector over gRPC, and as protobuf over HTTP', async (t) => {
  const bodies: Buffer[] = [];
  const grpc = new GrpcServer();
  const asIs = (body: Buffer): Buffer => body;
  const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  const format = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  grpc.addService(
    { Export: { path, requestStream: false, responseStream: false, ...format } },
    {
      Export: (call: { request: Buffer }, answer: (error: null, body: Buffer) => void) => {
        bodies.push(call.request);
        answer(null, Buffer.alloc(0));
      },
    },
  );
  const http = createServer((request, response) => {
    assert.equal(request.headers['content-type'], 'application/x-protobuf');
    void buffer(request).then((body) => {
      bodies.push(body);
      response.setHeader('content-type', 'application/x-protobuf').end();
    });
  });
  t.after(() => {
    grpc.forceShutdown();
    http.closeAllConnections();
    http.close();
  });
  const grpcPort = await new Promise<number>((resolve, reject) =>
    grpc.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port: httpPort } = http.address() as AddressInfo;
  for (const [protocol, port] of [
    ['grpc', grpcPort],
    ['http/protobuf', httpPort],
  ] as const) {
    const endpoint = `http://127.0.0.1:${port}`;
    const tracing = await createTracer({ enabled: true, endpoint, protocol, serviceName: 'heddle', samplingRatio: 1 });
    await tracing.span(`over ${protocol}`, { parent: CALLER }, () => Promise.resolve());
    await tracing.flush();
    const body = bodies.pop();
    assert.ok(body !== undefined && body.includes(`over ${protocol}`), protocol);
    assert.ok(body.includes(Buffer.from(CALLER_TRACE, 'hex')), 'in the trace of its caller');
    await tracing.shutdown();
  }
});

test('a trace context is read as W3C says, and a malformed one is ignored', () => {
  assert.deepEqual(parseTraceparent(CALLER), {
    traceId: CALLER_TRACE,
    spanId: CALLER_SPAN,
    traceFlags: 1,
    isRemote: true,
  });
  assert.ok(parseTraceparent(`01${CALLER.slice(2)}-later-field`));
  for (const text of [
    null,
    undefined,
    '',
    `${CALLER}-more`,
    `ff${CALLER.slice(2)}`,
    CALLER.toUpperCase(),
    CALLER.replace(CALLER_TRACE, '0'.repeat(32)),
    CALLER.replace(CALLER_SPAN, '0'.repeat(16)),
    CALLER.slice(0, -1),
    `${CALLER}\n`,
  ]) {
    assert.equal(parseTraceparent(text), null, String(text));
  }
});
