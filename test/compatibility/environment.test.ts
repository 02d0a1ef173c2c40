/** The environment and the metrics of the first task runner: names, defaults, labels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { heddle } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { example, openDoor, openTarget } from '../support/compatibility/door.ts';

interface Shown {
  settings: { name: string; value: string; source: string }[];
}

/** The default of a variable, where it has one, and another value. */
const variables = Object.entries(example('environment.json') as Record<string, [string, string?]>);

async function configured(
  environment: Record<string, string>,
): Promise<Map<string, { value: string; source: string }>> {
  const { code, stdout, stderr } = await heddle(['config', '--json'], environment);
  assert.equal(code, 0, stderr);
  return new Map((JSON.parse(stdout) as Shown).settings.map(({ name, ...rest }) => [name, rest]));
}

/** Numbers without superfluous digits, lists without spaces, addresses without their last slash. */
function plain(text: string): string {
  const number = Number(text);
  return text !== '' && Number.isFinite(number) ? String(number) : text.replace(/\/$/, '').split(/,\s*/).join(',');
}

test('every variable has its default', async () => {
  const shown = await configured({});
  for (const [name, [value, other]] of variables)
    if (other !== undefined) assert.equal(plain(shown.get(name)?.value ?? 'none'), plain(value), name);
});

test('every variable is read from the environment', async () => {
  const chosen = Object.fromEntries(variables.map(([name, values]) => [name, values.at(-1)!]));
  const shown = await configured(chosen);
  for (const [name, value] of Object.entries(chosen))
    assert.deepEqual(
      { ...shown.get(name), value: plain(shown.get(name)?.value ?? 'none') },
      { value: plain(value), source: 'environment' },
      name,
    );
});

test('a server starts with all of them, and lists its pages by them', async () => {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: _,
    TRACING_ENABLED: __,
    HOST_URL,
    ...rest
  } = Object.fromEntries(variables.map(([name, values]) => [name, values.at(-1)!]));
  const door = await openDoor({ ...rest, HOST_URL: HOST_URL!, PORT: '0', RUST_LOG: 'task_runner=info' });
  const many = Array.from({ length: 60 }, (_, at) => ({ name: `task ${at}`, kind: 'listed', timeout: 30 }));
  assert.equal((await door.ask('POST', '/task', many)).status, 201);
  assert.equal(((await door.ask('GET', '/task?kind=listed')).json as unknown[]).length, 40);
  assert.equal(((await door.ask('GET', '/task?kind=listed&page_size=200')).json as unknown[]).length, 60);
});

test('every metric is exposed, with its labels', async () => {
  const [door, target] = await Promise.all([openDoor({ SLOW_QUERY_THRESHOLD_MS: '1' }), openTarget()]);
  const on_start = { kind: 'Webhook', params: { url: target.url, verb: 'Post' } };
  const { json } = await door.ask('POST', '/task', [
    { id: 'one', name: 'One', kind: 'measured', timeout: 30, on_start },
    { name: 'Two', kind: 'measured', timeout: 30, dependencies: [{ id: 'one', requires_success: true }] },
  ]);
  const [one] = (json as { id: string }[]).map(({ id }) => id);
  await target.callOf(one!, 'start');
  const finish = async (): Promise<boolean> =>
    (await door.ask('PATCH', `/task/${one!}`, { status: 'Success' })).status === 200;
  await eventually(finish, 'the task runs and ends');
  const expected = Object.entries(example('metrics.json') as Record<string, string[]>);
  const text = await eventually(async () => {
    const metrics = await door.text('/metrics');
    return /^tasks_by_status\{.*status="Success"/m.test(metrics) && metrics;
  }, 'the gauges have been counted');
  for (const [name, labels] of expected) {
    assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'), name);
    const sample = new RegExp(`^${name}(?:_count)?\\{([^}]*)\\}`, 'm').exec(text)?.[1];
    if (sample === undefined) continue;
    for (const label of labels) assert.match(sample, new RegExp(`(^|,)${label}="`), `${name} by ${label}`);
  }
  for (const name of ['tasks_completed_total', 'task_status_transitions_total', 'webhook_executions_total'])
    assert.match(text, new RegExp(`^${name}\\{`, 'm'), `${name} counts`);
});
