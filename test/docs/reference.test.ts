import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { SETTINGS } from 'heddle/internal/app/settings';
import { ERROR_CATALOGUE } from '@heddle/base/errors';
import { BATCH_WIRE_STATE, TASK_STATES } from '@heddle/base/vocabulary/task-state';
import { REMOTE_CODES } from '@heddle/executor/protocol/codes';
import { createMetrics } from '@heddle/core/metrics/metrics';
import { readPage, readPages, ROOT, tableRows } from '@heddle/test-support/docs/pages';

const code = (cell: string): string => /^`([^`]+)`/.exec(cell)?.[1] ?? '';

test('the table of errors matches the catalogue, word for word', () => {
  const rows = tableRows(readPage('docs/http.md')).filter(([first]) => /^`[A-Z_]+`$/.test(first ?? ''));
  const documented = rows.map(([name, status, again, title]) => [code(name!), Number(status), again, title]);
  const catalogue = Object.entries(ERROR_CATALOGUE).map(([name, { status, retryable, title }]) => {
    return [name, status, retryable ? 'yes' : 'no', title];
  });
  assert.deepEqual(documented, catalogue);
});

test('the table of states matches the state machine, with its wire names', () => {
  const states: readonly string[] = TASK_STATES;
  const rows = tableRows(readPage('docs/concepts.md')).filter(([first]) => states.includes(code(first ?? '')));
  assert.deepEqual(
    rows.map(([state, , wire]) => [code(state!), code(wire!)]),
    Object.entries(BATCH_WIRE_STATE),
  );
});

const metricRows = tableRows(readPage('docs/operations.md')).filter(([, type]) =>
  ['counter', 'gauge', 'histogram'].includes(type ?? ''),
);

test('the table of metrics has each metric, its type and its labels', async () => {
  const described = await createMetrics({ processMetrics: false }).registry.getMetricsAsJSON();
  const text = ({ name, type }: { name: string; type: unknown }): string => `${name} ${String(type)}`;
  assert.deepEqual(
    metricRows.map(([name, type]) => text({ name: code(name!), type })).sort(),
    described.map(text).sort(),
  );
});

test('every documented metric is used in the code', () => {
  const source = readFileSync(join(ROOT, 'packages/core/src/metrics/metrics.ts'), 'utf8');
  const users = globSync('packages/*/src/**/*.ts', { cwd: ROOT })
    .filter((path) => !path.endsWith('metrics.ts'))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n');
  const uncounted = metricRows
    .map(([name]) => code(name!))
    .filter((name) => !new RegExp(`\\b[mM]etrics[?!]?\\.${propertyOf(source, name)}\\b`).test(users));
  assert.deepEqual(uncounted, []);
});

/** Metrics that are created with others, by the property that counts them. */
const COUNTED_BY: Readonly<Record<string, string>> = {
  tasks_by_status: 'setTasksByState',
  task_status_transitions_total: 'taskStatusTransitions',
  heddle_pool_pickup_seconds: 'pickup',
  heddle_pool_hits_total: 'pickup',
  heddle_pool_exhausted_total: 'exhausted',
  heddle_pool_requeued_total: 'requeued',
  heddle_pool_discarded_total: 'discarded',
  heddle_pool_launches_total: 'launches',
  heddle_pool_ended_total: 'ended',
  heddle_pool_reconciled_total: 'reaped',
  heddle_pool_runners: 'setRunners',
  heddle_pool_waiting: 'setRunners',
};

/** The property of `Metrics` for a metric. */
function propertyOf(source: string, metric: string): string {
  const made = new RegExp(`(\\w+)(?::| =)\\s(?:new \\w+\\(\\s*)?make\\.\\w+\\(\\s*'${metric}'`).exec(source)?.[1];
  if (COUNTED_BY[metric] !== undefined) return COUNTED_BY[metric];
  assert.ok(made, `${metric} is not made in src/runtime/metrics.ts in a way that this test can read`);
  return new RegExp(`(\\w+): ${made},`).exec(source)?.[1] ?? made;
}

/** Prefixes of settings; other words in capitals are placeholders. */
const SETTING_LIKE =
  /\b(?:HEDDLE|POOL|WORKER|CIRCUIT_BREAKER|PAGINATION|OTEL|SSRF|BLOCKED|TRACING|SLOW_QUERY|BATCH_CHANNEL|DATABASE|HOST|SKIP|RUST)_[A-Z0-9_]+\b/g;
/** Variables of the client, of sandboxed tasks, of the tests and of the benchmarks; error codes look alike. */
const OTHER_NAMES = /^HEDDLE_(URL|TOKEN|TASK_PROCESS|RESULT|(TEST|PROPERTY|BENCH)_\w+)$/;

test('every environment variable in the documentation is a setting, and every setting is documented', () => {
  const settings = Object.values(SETTINGS).flatMap(({ name, aliases }) => [name, ...aliases]);
  const pages = readPages();
  const known = new Set([...settings, ...Object.keys(ERROR_CATALOGUE), ...Object.keys(REMOTE_CODES)]);
  const unknown = pages.flatMap(({ path, text }) =>
    [...text.matchAll(SETTING_LIKE)]
      .map(([name]) => name)
      .filter((name) => !known.has(name) && !OTHER_NAMES.test(name))
      .map((name) => `${path}: ${name} is no setting`),
  );
  assert.deepEqual(unknown, []);
  const text = pages.map((page) => page.text).join('\n');
  assert.deepEqual(
    settings.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)),
    [],
  );
});
