import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import type { TaskState } from '@heddle/base/vocabulary/task-state';
import { CappedLabel } from '@heddle/base/capped-label';
import { createMetrics, type Metrics } from '../../src/metrics/metrics.ts';

interface MetricName {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  labels: string[];
}

const NAMES = JSON.parse(readFileSync(new URL('metric-names.json', import.meta.url), 'utf8')) as MetricName[];

/** Metrics whose label values are only known once something happened. */
const EMPTY_AT_FIRST = new Set([
  'tasks_completed_total',
  'running_tasks_by_kind',
  'task_duration_seconds',
  'task_wait_seconds',
  'db_query_duration_seconds',
  'slow_queries_total',
  'heddle_ready_tasks',
  'heddle_queue_messages',
  'heddle_pool_pickup_seconds',
  'heddle_pool_requeued_total',
  'heddle_pool_discarded_total',
  'heddle_pool_launches_total',
  'heddle_pool_ended_total',
  'heddle_pool_runners',
  'heddle_pool_waiting',
  'heddle_http_requests_total',
  'heddle_http_request_seconds',
]);

function quietMetrics(labelCap?: number): Metrics {
  return createMetrics({ processMetrics: false, ...(labelCap === undefined ? {} : { labelCap }) });
}

async function samplesOf(metrics: Metrics, name: string): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split('\n').filter((line) => new RegExp(`^${name}(_sum|_count)?[{ ]`).test(line));
}

test('every metric is there from the first scrape, with its type and a help text', async () => {
  const metrics = quietMetrics();
  const text = await metrics.registry.metrics();
  for (const { name, type } of NAMES) {
    assert.ok(text.includes(`\n# TYPE ${name} ${type}\n`) || text.startsWith(`# TYPE ${name} ${type}\n`), name);
    assert.match(text, new RegExp(`^# HELP ${name} \\S.{5,}$`, 'm'));
    const samples = await samplesOf(metrics, name);
    assert.equal(samples.length === 0, EMPTY_AT_FIRST.has(name), `samples of ${name}`);
    for (const sample of samples) assert.match(sample, / 0$/);
  }
  assert.match(metrics.registry.contentType, /^text\/plain; version=0\.0\.4/);
});

test('there is no metric that the list of names does not hold, and labels are those of the list', () => {
  const metrics = quietMetrics();
  const made = metrics.registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[];
  assert.deepEqual(made.map((metric) => metric.name).sort(), NAMES.map((metric) => metric.name).sort());
  for (const { name, labels } of NAMES) {
    assert.deepEqual(made.find((metric) => metric.name === name)?.labelNames, labels, name);
  }
});

test('the default registry exposes the process too, and two registries do not meet', async () => {
  const metrics = createMetrics();
  const other = quietMetrics();
  metrics.tasksCreated.inc(3);
  const text = await metrics.registry.metrics();
  assert.match(text, /^process_resident_memory_bytes \d+/m);
  assert.match(text, /^nodejs_eventloop_lag_seconds /m);
  assert.deepEqual(await samplesOf(other, 'tasks_created_total'), ['tasks_created_total 0']);
});

test('kinds beyond the cap count as other, in every metric alike, and none is lost', async () => {
  const metrics = quietMetrics(2);
  for (const kind of ['a', 'b', 'c', 'd', 'a']) metrics.tasksCompleted.inc({ outcome: 'success', kind });
  metrics.taskWaitSeconds.observe({ kind: 'd' }, 0.2);
  metrics.runningTasksByKind.replace({ c: 2, b: 1, e: 3 });
  assert.deepEqual(await samplesOf(metrics, 'tasks_completed_total'), [
    'tasks_completed_total{outcome="success",kind="a"} 2',
    'tasks_completed_total{outcome="success",kind="b"} 1',
    'tasks_completed_total{outcome="success",kind="other"} 2',
  ]);
  assert.ok((await samplesOf(metrics, 'task_wait_seconds')).includes('task_wait_seconds_count{kind="other"} 1'));
  assert.deepEqual((await samplesOf(metrics, 'running_tasks_by_kind')).sort(), [
    'running_tasks_by_kind{kind="b"} 1',
    'running_tasks_by_kind{kind="other"} 5',
  ]);
});

test('a snapshot gauge forgets what is gone', async () => {
  const metrics = quietMetrics();
  metrics.readyTasks.replace({ webhook: 4, 'kind:x': 1 });
  metrics.readyTasks.replace({ 'kind:x': 2 });
  assert.deepEqual(await samplesOf(metrics, 'heddle_ready_tasks'), ['heddle_ready_tasks{lane="kind:x"} 2']);
});

test('states are summed by the status that clients see', async () => {
  const metrics = quietMetrics();
  const byState: Record<TaskState, number> = {
    waiting: 1,
    pending: 2,
    claimed: 3,
    running: 4,
    expanding: 5,
    paused: 6,
    succeeded: 7,
    failed: 8,
    timed_out: 9,
    partially_failed: 10,
    canceled: 11,
    disabled: 12,
  };
  metrics.setTasksByState(byState);
  metrics.setTasksByState(byState);
  const samples = await samplesOf(metrics, 'tasks_by_status');
  const counts = samples.map((line) => /status="(\w+)"\} (\d+)/.exec(line)!.slice(1));
  assert.deepEqual(Object.fromEntries(counts), {
    Waiting: '1',
    Pending: '2',
    Claimed: '3',
    Running: '9',
    Paused: '6',
    Success: '7',
    Failure: '27',
    Canceled: '23',
  });
});

test('a capped label keeps the first values and their names, 100 by default', () => {
  const label = new CappedLabel();
  const values = Array.from({ length: 150 }, (_, at) => label.of(`kind-${at}`));
  assert.equal(new Set(values).size, 101);
  assert.equal(values[99], 'kind-99');
  assert.equal(values[100], 'other');
  assert.equal(label.of('kind-5'), 'kind-5');
});
