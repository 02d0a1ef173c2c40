/**
 * One trace from a request to its webhooks, through a server, workers of both kinds and an executor as real processes.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { HeddleClient } from '@heddle/client';
import { newId } from '@heddle/base/random';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { attributesOf, SpanCollector, type ExportedSpan } from '@heddle/test-support/span-collector';
import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { endpointOf, ExecutorSite } from '../../support/app/executor/executor-process.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER_SPAN = 'b7ad6b7169203331';
const PULLER_SPAN = '00f067aa0ba902b7';

interface Work {
  id: string;
  attempt: number;
  traceparent?: string;
}

describe('one trace', { concurrency: false }, () => {
  const site = new ExecutorSite();
  const processes: HeddleProcess[] = [];
  const webhooks: { path: string; headers: IncomingHttpHeaders }[] = [];
  let collector: SpanCollector;
  let receiver: Server;
  let receiverUrl: string;
  let url: string;
  let pulled: Work;
  let told: Work;
  let carried: unknown;

  function start(args: readonly string[], environment: Record<string, string>): HeddleProcess {
    const tracing = { TRACING_ENABLED: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
    const child = new HeddleProcess([...args, '--json'], { ...tracing, ...environment });
    processes.push(child);
    return child;
  }

  async function post<Answer>(path: string, body: object, traceparent?: string): Promise<Answer> {
    const headers = { 'content-type': 'application/json', ...(traceparent === undefined ? {} : { traceparent }) };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await response.text();
    assert.ok(response.ok, text);
    return JSON.parse(text) as Answer;
  }

  /** A custom worker, which works on the task under its own span. */
  async function pull(kind: string): Promise<Work> {
    const { tasks } = await post<{ tasks: Work[] }>('/v1/work/claim', { kinds: [kind], wait_secs: 60 });
    const [work] = tasks;
    const own = work!.traceparent?.replace(/-[0-9a-f]{16}-/, `-${PULLER_SPAN}-`);
    await post(`/v1/work/${work!.id}/complete`, { attempt: work!.attempt }, own);
    return work!;
  }

  before(async () => {
    receiver = createServer((request, response) => {
      webhooks.push({ path: request.url!, headers: request.headers });
      request.resume().on('end', () => response.end());
    }).listen(0, '127.0.0.1');
    const [opened, { url: database }] = await Promise.all([
      SpanCollector.open(),
      createTestDatabase(),
      once(receiver, 'listening'),
      site.prepare(),
    ]);
    collector = opened;
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const modulePath = join(site.path, 'carry.ts');
    writeFileSync(
      modulePath,
      `import { defineKind } from '@heddle/kit';
       export default defineKind({ name: 'Carry', run: (input, { traceparent }) => ({ traceparent }) });`,
    );
    const common = { DATABASE_URL: database, WORKER_LOOP_INTERVAL_MS: '50' };
    const tracing = { TRACING_ENABLED: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
    const executor = await site.start({ HEDDLE_EXECUTOR_TIER: 'pooled', ...tracing });
    processes.push(site.run!);
    const server = start(['server'], {
      ...common,
      HOST: '127.0.0.1',
      PORT: '0',
      HEDDLE_ALLOWED_WEBHOOK_CIDRS: '127.0.0.1',
      HEDDLE_EXECUTORS: endpointOf(executor, 'tcp'),
      HEDDLE_EXECUTOR_CLIENT: site.clientFile,
    });
    const worker = start(['worker', '--module', modulePath, '--kind', 'Carry'], common);
    [{ url }] = await Promise.all([server.ready(), worker.event('ready')]);
    await runWorkflow();
    // Malformed context starts a separate trace.
    await post('/task', [task('Told')], 'not-a-traceparent');
    told = await pull('Told');
    await Promise.all(processes.map((child) => child.end('SIGTERM')));
  });

  after(async () => {
    for (const child of processes) if (!child.ended) child.child.kill('SIGKILL');
    await Promise.all(processes.map(({ exited }) => exited));
    receiver.closeAllConnections();
    receiver.close();
    await collector[Symbol.asyncDispose]();
    await site.dispose();
  });

  function task(kind: string): object {
    return { id: newId(), name: kind, kind, timeout: 60 };
  }

  async function runWorkflow(): Promise<void> {
    const webhook = (path: string): object => ({
      kind: 'Webhook',
      params: { url: `${receiverUrl}${path}`, verb: 'Post' },
    });
    const children = [
      { id: 'carried', kind: 'Carry' },
      { id: 'pulled', kind: 'Pull' },
      {
        id: 'remote',
        kind: 'RemoteEvent',
        input: { event_name: 'WordCount', args: { text: 'a b' } },
        on_success: [webhook('/end')],
      },
    ];
    const notify = [{ on: ['Succeeded'], to: { webhook: { url: `${receiverUrl}/notify` } } }];
    const client = new HeddleClient({ baseUrl: url });
    const workflow = { root: { mode: 'sequential', children }, notify } as Parameters<
      HeddleClient['submitWorkflow']
    >[0];
    const { id } = await client.submitWorkflow(workflow, { traceparent: `00-${TRACE}-${CALLER_SPAN}-01` });
    pulled = await pull('Pull');
    await eventually(() => webhooks.length >= 2, 'both webhooks arrive');
    for await (const { kind, data } of client.workflowResults(id)) if (kind === 'Carry') carried = data;
  }

  function named(name: string): ExportedSpan {
    const found = collector.ofTrace(TRACE).filter((span) => span.name === name);
    assert.equal(
      found.length,
      1,
      `${name}, of ${collector
        .ofTrace(TRACE)
        .map((span) => span.name)
        .join(', ')}`,
    );
    return found[0]!;
  }

  const context = (span: ExportedSpan): string => `00-${TRACE}-${span.spanId}-01`;

  test('begins with the request and contains the workflow and each attempt', () => {
    const request = named('POST /v1/workflows');
    assert.equal(request.parentSpanId, CALLER_SPAN);
    assert.equal(named('workflow').parentSpanId, request.spanId);
    for (const kind of ['Carry', 'Pull', 'RemoteEvent']) {
      assert.equal(named(`task ${kind}`).parentSpanId, named('workflow').spanId, kind);
    }
  });

  test('continues in a queue worker, and its handler has the context', () => {
    const run = named('run Carry');
    assert.equal(run.parentSpanId, named('task Carry').spanId);
    assert.deepEqual(carried, { traceparent: context(run) });
  });

  test('continues in a worker that pulls its tasks, and in its calls', () => {
    assert.equal(pulled.traceparent, context(named('task Pull')));
    assert.equal(named('POST /v1/work/:task_id/complete').parentSpanId, PULLER_SPAN);
  });

  test('continues in an executor', () => {
    const run = named('run RemoteEvent');
    assert.equal(run.parentSpanId, named('task RemoteEvent').spanId);
    assert.equal(named('remote event').parentSpanId, run.spanId);
    assert.equal(named('task.submit').parentSpanId, named('remote event').spanId);
    assert.equal(named('task.execute').parentSpanId, named('task.submit').spanId);
  });

  test('ends with the webhooks of the attempt and of the workflow', () => {
    const headerOf = (path: string): unknown => webhooks.find((each) => each.path === path)!.headers['traceparent'];
    const [end, notify] = [named('webhook end'), named('webhook notify')];
    assert.equal(end.parentSpanId, named('task RemoteEvent').spanId);
    assert.equal(headerOf('/end'), context(end));
    assert.equal(notify.parentSpanId, named('workflow').spanId);
    assert.equal(headerOf('/notify'), context(notify));
  });

  test('does not include a request with malformed context', () => {
    const ownTrace = told.traceparent!.split('-')[1]!;
    assert.notEqual(ownTrace, TRACE);
    const spans = collector.ofTrace(ownTrace);
    const request = spans.find(({ name }) => name === 'POST /task')!;
    assert.ok(request.parentSpanId === undefined || request.parentSpanId === '');
    const attempt = spans.find(({ name }) => name === 'task Told')!;
    assert.equal(attributesOf(attempt)['heddle.task_id'], told.id);
    assert.equal(spans.find(({ name }) => name === 'batch')!.parentSpanId, request.spanId);
  });
});
