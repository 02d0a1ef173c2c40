/** The spans of a task as a real collector receives them from `heddle executor`. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { PROTOCOLS } from '@heddle/executor/protocol/messages';
import { eventually } from '@heddle/test-support/eventually';
import { SpanCollector, type ExportedSpan } from '@heddle/test-support/span-collector';
import { endpointOf, ExecutorSite, type Ready } from '../../support/app/executor/executor-process.ts';

const CALLER_SPAN = 'b7ad6b7169203331';
const SPANS = ['event.resolve', 'task.execute', 'task.respond', 'task.submit', 'task.validate'];

describe('the traces of an executor', () => {
  const site = new ExecutorSite();
  let collector: SpanCollector;
  let ready: Ready;

  before(async () => {
    [collector] = await Promise.all([SpanCollector.open(), site.prepare()]);
    ready = await site.start({
      HEDDLE_EXECUTOR_TIER: 'process',
      TRACING_ENABLED: 'true',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    });
    for (const [index, protocol] of PROTOCOLS.entries()) {
      const client = site.client(endpointOf(ready, protocol));
      const traceparent = `00-${traceOf(index)}-${CALLER_SPAN}-01`;
      await client.submit('WordCount', { text: 'a' }, { traceparent, acknowledge: 'never' });
      await client.close();
    }
    await site.run!.end('SIGTERM');
    await eventually(() => PROTOCOLS.every((_, index) => ofTrace(index).length >= SPANS.length), 'all spans arrive');
  });

  after(async () => {
    await collector[Symbol.asyncDispose]();
    await site.dispose();
  });

  const traceOf = (index: number): string => String(index + 1).repeat(32);
  const ofTrace = (index: number): ExportedSpan[] => collector.ofTrace(traceOf(index));

  for (const [index, protocol] of PROTOCOLS.entries()) {
    test(`join the trace of the caller over ${protocol}: one of each step, within the one that is the call`, () => {
      const found = ofTrace(index);
      assert.deepEqual(found.map(({ name }) => name).sort(), SPANS);
      const submit = found.find(({ name }) => name === 'task.submit')!;
      assert.equal(submit.parentSpanId, CALLER_SPAN);
      for (const { name, parentSpanId } of found) {
        if (name !== 'task.submit') assert.equal(parentSpanId, submit.spanId, name);
      }
    });
  }
});
