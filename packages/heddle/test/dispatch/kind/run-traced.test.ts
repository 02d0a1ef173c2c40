import assert from 'node:assert/strict';
import { test } from 'node:test';

import { NO_RESULTS } from '../../../src/dispatch/kind/result-stream.ts';
import { runTraced } from '../../../src/dispatch/kind/run-traced.ts';
import { Completion } from '../../../src/dispatch/kind/completion.ts';
import { defineKind } from '@heddle/kit';
import { silentLogger } from '@heddle/base/log';
import { createTracer } from '@heddle/base/trace';
import { SpanCollector } from '@heddle/test-support/span-collector';
import { kindTask } from '../../support/dispatch/kind/running.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const ATTEMPT_SPAN = 'b7ad6b7169203331';
const traceparent = `00-${TRACE}-${ATTEMPT_SPAN}-01`;

const { signal } = new AbortController();
const host = { log: silentLogger, output: () => undefined, progress: () => Promise.resolve(), signal, traceparent };
const ports = { nodes: { send: () => Promise.resolve() }, results: NO_RESULTS };
const told = defineKind({ name: 'told', run: (_input, context) => context.traceparent });
const failing = defineKind({
  name: 'failing',
  run: () => {
    throw new Error('no such table');
  },
});

test('with tracing off a run is a promise only if its handler is one, and continues with the context of its task', () => {
  const completion = runTraced(null, { definition: told, task: kindTask('told'), host, ports });
  assert.ok(completion instanceof Completion);
  assert.equal(completion.result, traceparent);
});

test('a run is a span below its attempt, available to its handler; a failure is recorded on it', async () => {
  await using collector = await SpanCollector.open();
  const { endpoint } = collector;
  const tracing = await createTracer({ enabled: true, endpoint, serviceName: 'heddle', samplingRatio: 1 });
  const { result } = await runTraced(tracing, { definition: told, task: kindTask('told'), host, ports });
  const { outcome } = await runTraced(tracing, { definition: failing, task: kindTask('failing'), host, ports });
  await tracing.shutdown();
  assert.equal(outcome, 'failed');
  const [run, failed] = ['run told', 'run failing'].map((name) => collector.spans.find((span) => span.name === name)!);
  assert.deepEqual([run!.traceId, run!.parentSpanId], [TRACE, ATTEMPT_SPAN]);
  assert.equal(result, `00-${TRACE}-${run!.spanId}-01`);
  assert.deepEqual(failed!.status, { code: 2, message: 'no such table' });
});
