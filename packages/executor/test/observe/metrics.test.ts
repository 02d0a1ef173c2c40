import assert from 'node:assert/strict';
import { test } from 'node:test';

import { logTaskCompleted, logTaskRejected } from '../../src/observe/log-record.ts';
import { createRemoteMetrics } from '../../src/observe/metrics.ts';
import { createTaskTracing, TASK_SPANS } from '../../src/observe/spans.ts';
import { systemClock } from '@heddle/base/clock';
import { LogLimit } from '@heddle/base/log-limit';
import { createLogger } from '@heddle/base/log';
import { createTracer } from '@heddle/base/trace';

test('metrics have their names, labels and types', async () => {
  const metrics = createRemoteMetrics();
  metrics.taskEnded({ status: 'success', protocol: 'grpc', event_name: 'Resize', duration_ms: 2_100 });
  metrics.taskEnded({ status: 'error', protocol: 'tcp', event_name: 'Resize', duration_ms: -5 });
  metrics.error('TASK_TIMEOUT', 'tcp');
  metrics.queueDepth('xmlrpc', 3);
  metrics.queueDepth('xmlrpc', -1);
  metrics.pulled('git');
  const text = await metrics.registry.metrics();
  for (const line of [
    '# TYPE volnux_tasks_total counter',
    'volnux_tasks_total{status="success",protocol="grpc",event_name="Resize"} 1',
    '# TYPE volnux_task_duration_seconds histogram',
    'volnux_task_duration_seconds_sum{status="success",protocol="grpc"} 2.1',
    'volnux_task_duration_seconds_sum{status="error",protocol="tcp"} 0',
    '# TYPE volnux_queue_depth gauge',
    'volnux_queue_depth{protocol="xmlrpc"} 2',
    '# TYPE volnux_ephemeral_pulls_total counter',
    'volnux_ephemeral_pulls_total{source="git"} 1',
    'volnux_ephemeral_pulls_total{source="npm"} 0',
    '# TYPE volnux_errors_total counter',
    'volnux_errors_total{code="TASK_TIMEOUT",protocol="tcp"} 1',
    'volnux_errors_total{code="REPLAYED",protocol="http"} 0',
  ]) {
    assert.ok(text.split('\n').includes(line), `${line} is missing`);
  }
});

test('event names beyond the cap count as other', async () => {
  const metrics = createRemoteMetrics({ labelCap: 2 });
  for (let index = 0; index < 50; index += 1) {
    metrics.taskEnded({ status: 'success', protocol: 'grpc', event_name: `Event${index}`, duration_ms: 1 });
  }
  const series = (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('volnux_tasks_total{'));
  assert.equal(series.length, 3);
  assert.ok(series.some((line) => line.includes('event_name="other"') && line.endsWith(' 48')));
});

test('a completed task is one log record with the documented members', () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line: string) => void lines.push(line) } });
  const task = { task_id: 'def456', correlation_id: 'abc123', event_name: 'DataProcessEvent', duration_ms: 2_100 };
  logTaskCompleted(log, { ...task, status: 'success', protocol: 'grpc', client_id: 'executor-7' });
  const request = { protocol: 'tcp', client_id: null, remote_address: '192.0.2.1', event_name: null } as const;
  const rejection = { ...request, code: 'REPLAYED', message: 'was received before' } as const;
  logTaskRejected(log, rejection, new LogLimit(systemClock));
  const [completed, rejected] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { level, event, task_id, correlation_id, event_name, duration_ms, status, protocol, client_id } = completed!;
  assert.deepEqual(
    { level, event, task_id, correlation_id, event_name, duration_ms, status, protocol, client_id },
    {
      level: 'info',
      event: 'task_completed',
      ...task,
      status: 'success',
      protocol: 'grpc',
      client_id: 'executor-7',
    },
  );
  assert.deepEqual([rejected!['event'], rejected!['code']], ['task_rejected', 'REPLAYED']);
});

test("the spans of a task have their names, and the caller's trace is passed on", async () => {
  assert.deepEqual(Object.values(TASK_SPANS), [
    'task.submit',
    'task.validate',
    'event.resolve',
    'task.execute',
    'task.respond',
  ]);
  const tracing = createTaskTracing(
    await createTracer({ enabled: false, endpoint: null, serviceName: 'test', samplingRatio: 1 }),
  );
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const kept = await tracing.submit({ protocol: 'grpc', traceparent }, (span) =>
    Promise.resolve(tracing.traceparentOf(span)),
  );
  assert.equal(kept, traceparent);
  const failing = tracing.respond(kept, 'c-1', () => Promise.reject(new Error('no')));
  await assert.rejects(failing, /^Error: no$/);
});
