/** Remote execution: the configuration, the submissions, the answers, the polls, health, log and metrics. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { HeddleProcess } from '@heddle/test-support/app/heddle-process';
import { eventually } from '@heddle/test-support/eventually';
import { temporaryDirectory } from '@heddle/test-support/postgres';
import type { Json } from '../support/compatibility/door.ts';
import { call, sign } from '../support/compatibility/signed-client.ts';

const EVENTS = join(import.meta.dirname, '../../examples/remote-events');
const SECRET = Buffer.alloc(32, 'loom');
const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const directory = temporaryDirectory('heddle-compatible-');
let run: HeddleProcess;
let ports: Map<string, number>;

interface Ready {
  event: 'ready';
  workers: number;
  tier: string;
  events: string[];
  listeners: { protocol: string; url: string }[];
}

before(async () => {
  const file = join(directory, 'executor.yaml');
  const yaml = readFileSync(join(import.meta.dirname, '../support/compatibility/examples/executor.yaml'), 'utf8');
  writeFileSync(file, yaml.replace('SECRET', SECRET.toString('base64url')).replace('EVENTS', EVENTS), { mode: 0o600 });
  const listeners = ['XMLRPC', 'TCP', 'HTTP'].map((name) => [`HEDDLE_EXECUTOR_${name}_BIND`, '127.0.0.1:0'] as const);
  run = new HeddleProcess(['executor', '--json'], {
    ...Object.fromEntries(listeners),
    HEDDLE_CONFIG: file,
    HEDDLE_EXECUTOR_DATA: join(directory, 'data'),
  });
  const ready = await run.event<Ready>('ready');
  assert.deepEqual([ready.workers, ready.tier, ready.events], [3, 'process', ['WordCount']]);
  ports = new Map(ready.listeners.map(({ protocol, url }) => [protocol, Number(url.split(':').at(-1))]));
  assert.deepEqual([...ports.keys()].sort(), ['grpc', 'http', 'tcp', 'xmlrpc']);
});
after(async () => {
  await run.end('SIGTERM');
  rmSync(directory, { recursive: true, force: true });
});

function submit(payload: Json, change: (mac: string) => string = (mac) => mac): Promise<Json> {
  const bytes = Buffer.from(JSON.stringify(payload));
  const signed = sign(SECRET, 'submit', bytes);
  return call(ports.get('tcp')!, { ...signed, mac: change(signed.mac) }, bytes);
}

test('a submission is answered with its result', async () => {
  const answer = await submit({ event_name: 'WordCount', args: { text: 'warp weft warp' } });
  const { correlation_id, status, result, completed_at } = answer;
  assert.match(String(correlation_id), UUID4);
  assert.equal(status, 'success', JSON.stringify(answer));
  assert.deepEqual(result, { warp: 2, weft: 1 });
  assert.ok(!Number.isNaN(Date.parse(String(completed_at))));
});

test('errors have the members and the codes of the source', async () => {
  for (const [code, answer] of [
    ['INVALID_CHECKSUM', await submit({ event_name: 'WordCount', args: {} }, (mac) => `${mac.slice(1)}A`)],
    ['EVENT_NOT_WHITELISTED', await submit({ event_name: 'Other', args: {} })],
    ['EVENT_NOT_REGISTERED', await submit({ event_name: 'Nowhere', args: {} })],
    ['INVALID_ARGS', await submit({ event_name: 'WordCount', args: { text: 7 } })],
  ] as const) {
    const { status, code: told, message, timestamp, correlation_id } = answer;
    assert.deepEqual([status, told], ['error', code], JSON.stringify(answer));
    assert.equal(typeof message, 'string');
    assert.equal(typeof correlation_id, 'string');
    assert.ok(!Number.isNaN(Date.parse(String(timestamp))));
  }
});

test('an asynchronous one is registered, and polled over HTTP: 202 until it has ended', async () => {
  const pending = await submit({ event_name: 'WordCount', args: { text: 'selvedge' }, mode: 'async' });
  const { correlation_id, status, created_at, expires_at } = pending;
  assert.ok(status === 'pending' || status === 'running');
  assert.ok(Date.parse(String(created_at)) < Date.parse(String(expires_at)));
  const last = await eventually(async () => {
    const payload = Buffer.from(JSON.stringify({ correlation_id }));
    const { key_id, timestamp_ms, nonce, client, audience, mac } = sign(SECRET, 'poll', payload);
    const response = await fetch(`http://127.0.0.1:${ports.get('http')!}/poll/${String(correlation_id)}`, {
      method: 'POST',
      body: payload,
      headers: {
        'content-type': 'application/json',
        'heddle-key-id': key_id,
        'heddle-timestamp': String(timestamp_ms),
        'heddle-nonce': nonce,
        'heddle-client': client,
        'heddle-audience': audience,
        'heddle-mac': mac,
      },
    });
    const answer = (await response.json()) as Json;
    assert.ok(response.status === 200 || response.status === 202, JSON.stringify(answer));
    return response.status === 200 && answer;
  }, 'the task has ended');
  assert.deepEqual([last['status'], last['result']], ['success', { selvedge: 1 }]);
});

test('it can be asked whether an event exists', async () => {
  for (const [event_name, exists] of [
    ['WordCount', true],
    ['Nowhere', false],
  ] as const) {
    const payload = Buffer.from(JSON.stringify({ event_name }));
    const answer = await call(ports.get('tcp')!, sign(SECRET, 'event', payload), payload);
    assert.deepEqual([answer['status'], answer['exists']], ['ok', exists]);
  }
});

test('health, log and metrics', async () => {
  const base = `http://127.0.0.1:${ports.get('http')!}`;
  const response = await fetch(`${base}/healthz`);
  const { status, workers, queue_depth, uptime_seconds } = (await response.json()) as Json;
  assert.deepEqual([response.status, status, workers, queue_depth], [200, 'healthy', 3, 0]);
  assert.equal(typeof uptime_seconds, 'number');

  const line = await eventually(
    () => run.stderr.split('\n').find((text) => text.includes('"event":"task_completed"')),
    'the record of a task',
  );
  const record = JSON.parse(line) as Json;
  const { level, event_name, protocol, client_id, duration_ms } = record;
  assert.deepEqual([level, event_name, protocol, client_id], ['info', 'WordCount', 'tcp', 'stranger']);
  assert.equal(typeof duration_ms, 'number');
  for (const member of ['task_id', 'correlation_id', 'status']) assert.equal(typeof record[member], 'string', member);

  const metrics = await (await fetch(`${base}/metrics`)).text();
  for (const [name, type, labels] of [
    ['volnux_tasks_total', 'counter', ['status', 'protocol', 'event_name']],
    ['volnux_task_duration_seconds', 'histogram', ['status', 'protocol']],
    ['volnux_queue_depth', 'gauge', ['protocol']],
    ['volnux_ephemeral_pulls_total', 'counter', []],
    ['volnux_errors_total', 'counter', ['code', 'protocol']],
  ] as const) {
    assert.match(metrics, new RegExp(`^# TYPE ${name} ${type}$`, 'm'));
    for (const label of labels) assert.match(metrics, new RegExp(`^${name}(?:_bucket)?\\{[^}]*\\b${label}="`, 'm'));
  }
});
