import assert from 'node:assert/strict';
import { test } from 'node:test';

import { SpanStatusCode, type Span } from '@opentelemetry/api';

import type { SpanOptions, Tracing } from '@heddle/base/trace';
import { createTestServer, task } from '@heddle/test-support/http/server';

const CALLER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OURS = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';

interface Recorded {
  name: string;
  options: SpanOptions;
  attributes: Record<string, unknown>;
  status: SpanStatusCode;
  ended: boolean;
}

/** Records spans instead of sending them. */
function recording(): { tracing: Tracing; spans: Recorded[] } {
  const spans: Recorded[] = [];
  const tracing: Tracing = {
    enabled: true,
    span: async (name, options, run) => {
      const recorded: Recorded = { name, options, attributes: {}, status: SpanStatusCode.UNSET, ended: false };
      spans.push(recorded);
      const span = { setAttribute: (key: string, value: unknown) => (recorded.attributes[key] = value) };
      try {
        return await run(span as unknown as Span);
      } catch (error) {
        recorded.status = SpanStatusCode.ERROR;
        throw error;
      } finally {
        recorded.ended = true;
      }
    },
    traceparentOf: () => OURS,
    contextWithin: (parent) => parent,
    newContext: () => OURS,
    record: () => undefined,
    flush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  return { tracing, spans };
}

test('a request is one server span that joins the caller, and its submission joins the request', async () => {
  const { tracing, spans } = recording();
  const { app, stub } = await createTestServer({ tracing });
  const headers = { traceparent: CALLER };
  await app.inject({ method: 'POST', url: '/task?', payload: [task()], headers });
  const [span] = spans;
  assert.equal(span!.name, 'POST /task');
  assert.deepEqual([span!.options.kind, span!.options.parent], ['server', CALLER]);
  assert.equal(span!.attributes['http.response.status_code'], 201);
  assert.equal(stub.submissions[0]!.traceparent, OURS);
  stub.failure = new Error('broken');
  await app.inject({ url: '/task', headers: { traceparent: 'nonsense' } });
  assert.equal(spans[1]!.options.parent, null);
  await app.close();
  assert.ok(spans.every(({ ended }) => ended));
  assert.deepEqual([spans[0]!.status, spans[1]!.status], [SpanStatusCode.UNSET, SpanStatusCode.ERROR]);
});

test("with tracing off, a submission has the caller's own context, unless it is invalid", async () => {
  const { app, stub } = await createTestServer();
  await app.inject({ method: 'POST', url: '/task', payload: [task()], headers: { traceparent: CALLER } });
  await app.inject({ method: 'POST', url: '/task', payload: [task()], headers: { traceparent: 'nonsense' } });
  assert.deepEqual(
    stub.submissions.map(({ traceparent }) => traceparent),
    [CALLER, null],
  );
  await app.close();
});
