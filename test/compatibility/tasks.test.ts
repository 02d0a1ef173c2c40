/** The requests and answers of tasks, in the shapes that clients of the first task runner send and read. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { eventually } from '@heddle/test-support/eventually';
import { type Door, example, type Json, openDoor, openTarget, type Target } from '../support/compatibility/door.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let door: Door;
let target: Target;

before(async () => {
  [door, target] = await Promise.all([openDoor(), openTarget()]);
});

/** The example, with addresses of this test. */
function tasks(): Json[] {
  return JSON.parse(JSON.stringify(example('task.json')).replaceAll('TARGET', target.url)) as Json[];
}

async function create(body: unknown): Promise<{ batch: string; created: Json[] }> {
  const { status, headers, json } = await door.ask('POST', '/task', body);
  assert.equal(status, 201, JSON.stringify(json));
  return { batch: headers.get('x-batch-id')!, created: json as Json[] };
}

async function task(id: unknown): Promise<Json> {
  return (await door.ask('GET', `/task/${String(id)}`)).json as Json;
}

async function untilStatus(id: unknown, status: string): Promise<Json> {
  return eventually(
    async () => {
      const found = await task(id);
      return found['status'] === status && found;
    },
    `${String(id)} is ${status}`,
  );
}

/** A task whose start calls the target, so that it runs until the test ends it. */
function running(more: Json = {}): Json {
  const on_start = { kind: 'Webhook', params: { url: `${target.url}/begin`, verb: 'Post' } };
  return { name: 'Count the stock', kind: 'stock-count', timeout: 45, on_start, ...more };
}

test('health and readiness', async () => {
  const health = await door.ask('GET', '/health');
  assert.equal(health.status, 200);
  const { status, database, pool_size, pool_idle } = health.json as Json;
  assert.deepEqual({ status, database }, { status: 'ok', database: 'healthy' });
  assert.ok(Number.isInteger(pool_size) && Number.isInteger(pool_idle));
  const ready = await eventually(async () => {
    const answer = await door.ask('GET', '/ready');
    return answer.status === 200 && answer;
  }, 'the server is ready');
  assert.deepEqual(ready.json, { status: 'ready' });
});

test('a batch: created, shown, listed, started through its handle, ended, notified', async () => {
  const { batch, created } = await create(tasks());
  assert.match(batch, UUID);
  assert.equal(created.length, 2);
  const [fetchId, checkId] = created.map(({ id }) => id);

  const shown = await task(checkId);
  for (const [member, value] of Object.entries({
    id: checkId,
    name: 'Check the invoices',
    kind: 'invoice-import',
    status: 'Waiting',
    timeout: 75,
    metadata: { region: 'south' },
    started_at: null,
    ended_at: null,
    success: 0,
    failures: 0,
    failure_reason: null,
    batch_id: batch,
  }))
    assert.deepEqual(shown[member], value, member);
  for (const member of ['created_at', 'last_updated']) assert.ok(!Number.isNaN(Date.parse(String(shown[member]))));
  assert.equal((shown['rules'] as Json[])[0]!['type'], 'Concurency');
  assert.equal((shown['rules'] as Json[])[0]!['max_concurency'], 4);
  const actions = shown['actions'] as Json[];
  assert.deepEqual(new Set(actions.map(({ kind }) => kind)), new Set(['Webhook']));
  assert.deepEqual(actions.map(({ trigger }) => trigger).sort(), ['End', 'End', 'Start']);
  const start = actions.find(({ trigger }) => trigger === 'Start')!;
  assert.deepEqual(start['params'], {
    url: `${target.url}/begin`,
    verb: 'Post',
    body: { ledger: 'main' },
    headers: { 'X-Ledger': 'main' },
  });

  const query = `page=0&page_size=20&status=Waiting&kind=invoice&batch_id=${batch}&name=invoices`;
  const list = await door.ask('GET', `/task?${query}&metadata=${encodeURIComponent('{"region":"south"}')}`);
  assert.deepEqual(
    (list.json as Json[]).map(({ id }) => id),
    [checkId],
  );

  const claimed = await door.ask('POST', '/v1/work/claim', { kinds: ['invoice-import'], max: 1, lease_secs: 60 });
  assert.equal(claimed.status, 200);
  const ended = await door.ask('PATCH', `/task/${String(fetchId)}`, {
    status: 'Success',
    new_success: 7,
    new_failures: 1,
    metadata: { checked: true },
  });
  assert.equal(ended.status, 200, JSON.stringify(ended.json));
  const { success, failures, metadata } = await task(fetchId);
  assert.deepEqual(
    { success, failures, metadata },
    { success: 7, failures: 1, metadata: { region: 'north', checked: true } },
  );

  const begin = await target.callOf(String(checkId), 'start');
  assert.equal(begin.method, 'POST');
  assert.deepEqual(begin.body, { ledger: 'main' });
  assert.equal(begin.headers['x-ledger'], 'main');
  assert.equal(begin.headers['idempotency-key'], `${String(checkId)}:start`);
  const handle = new URL(begin.url.searchParams.get('handle')!);
  assert.equal(handle.pathname, `/task/${String(checkId)}`);
  const counted = await door.ask('PUT', `${handle.pathname}${handle.search}`, { new_success: 5, new_failures: 2 });
  assert.equal(counted.status, 202);
  const failed = await door.ask('PATCH', `${handle.pathname}${handle.search}`, {
    status: 'Failure',
    failure_reason: 'The ledger is closed',
  });
  assert.equal(failed.status, 200, JSON.stringify(failed.json));
  const end = await target.callOf(String(checkId), 'end');
  assert.equal(end.url.pathname, '/ill');
  assert.equal(end.headers['idempotency-key'], `${String(checkId)}:end:failure`);
  const last = await task(checkId);
  assert.deepEqual(
    [last['status'], last['failure_reason'], last['success'], last['failures']],
    ['Failure', 'The ledger is closed', 5, 2],
  );
  assert.equal((await door.ask('PATCH', `/task/${String(checkId)}`, { status: 'Success' })).status, 409);

  const dag = (await door.ask('GET', `/dag/${batch}`)).json as { tasks: Json[]; links: Json[] };
  assert.equal(dag.tasks.length, 2);
  assert.deepEqual(dag.links, [{ parent_id: fetchId, child_id: checkId, requires_success: true }]);
  assert.match(await door.text(`/view?batch=${batch}`), /^<!doctype html>/i);
});

test('what is not valid is answered with every fault, and nothing is created', async () => {
  const { status, json } = await door.ask('POST', '/task', [{ name: '', kind: 'k', timeout: 0 }]);
  assert.equal(status, 400);
  const { error, batch_id, details } = json as Json;
  assert.equal(error, 'Validation failed');
  assert.match(String(batch_id), UUID);
  assert.ok((details as string[]).length >= 2 && (details as unknown[]).every((detail) => typeof detail === 'string'));
});

test('a batch of duplicates alone: 204 with its id', async () => {
  const dedupe_strategy = [{ kind: 'statement', status: 'Pending', fields: ['account'] }];
  const statement = { name: 'Print', kind: 'statement', timeout: 30, metadata: { account: 12 }, dedupe_strategy };
  await create([statement]);
  const again = await door.ask('POST', '/task', [statement]);
  assert.equal(again.status, 204);
  assert.match(again.headers.get('x-batch-id') ?? '', UUID);
});

test('the answer to a start may register what cancels it', async () => {
  target.answer = { kind: 'Webhook', trigger: 'Cancel', params: { url: `${target.url}/cease`, verb: 'Delete' } };
  const { created } = await create([running()]);
  const { id } = created[0]!;
  await eventually(
    async () => ((await task(id))['actions'] as Json[]).some(({ trigger }) => trigger === 'Cancel'),
    'the action is registered',
  );
  target.answer = {};
  assert.equal((await door.ask('DELETE', `/task/${String(id)}`)).status, 200);
  const cancel = await target.callOf(String(id), 'cancel');
  assert.deepEqual([cancel.method, cancel.url.pathname], ['DELETE', '/cease']);
  assert.equal(cancel.headers['idempotency-key'], `${String(id)}:cancel`);
});

test('each verb', async () => {
  for (const verb of ['Get', 'Post', 'Put', 'Patch', 'Delete']) {
    const on_start = { kind: 'Webhook', params: { url: `${target.url}/verb`, verb } };
    const { created } = await create([running({ kind: `verb-${verb}`, on_start })]);
    assert.equal((await target.callOf(String(created[0]!['id']), 'start')).method, verb.toUpperCase());
  }
});

test('pause', async () => {
  const { created } = await create([{ name: 'Wait', kind: 'nobody-does-it', timeout: 30 }]);
  const { id } = created[0]!;
  assert.equal((await door.ask('PATCH', `/task/pause/${String(id)}`)).status, 200);
  await untilStatus(id, 'Paused');
});

test('dependencies: a task that requires a success fails with its parent, the others go on', async () => {
  const { created } = await create([
    { id: 'first', name: 'First', kind: 'ingest', timeout: 30 },
    {
      id: 'strict',
      name: 'Strict',
      kind: 'cluster',
      timeout: 30,
      dependencies: [{ id: 'first', requires_success: true }],
    },
    {
      id: 'after-strict',
      name: 'After',
      kind: 'cluster',
      timeout: 30,
      dependencies: [{ id: 'strict', requires_success: true }],
    },
    {
      id: 'lenient',
      name: 'Lenient',
      kind: 'cluster',
      timeout: 30,
      dependencies: [{ id: 'first', requires_success: false }],
    },
  ]);
  const [first, strict, afterStrict, lenient] = created.map(({ id }) => id);
  assert.equal((await door.ask('DELETE', `/task/${String(first)}`)).status, 200);
  await untilStatus(first, 'Canceled');
  await untilStatus(strict, 'Failure');
  await untilStatus(afterStrict, 'Failure');
  await untilStatus(lenient, 'Pending');
});

test('a rule of concurrency holds tasks of the same field back', async () => {
  const rules = [
    { type: 'Concurency', matcher: { kind: 'export', status: 'Running', fields: ['tenant'] }, max_concurency: 1 },
  ];
  const one = (tenant: string): Json => running({ kind: 'export', metadata: { tenant }, rules });
  const { created } = await create([one('a'), one('a'), one('b')]);
  const statuses = async (): Promise<unknown[]> =>
    Promise.all(created.map(async ({ id }) => (await task(id))['status']));
  await eventually(async () => (await statuses()).filter((status) => status === 'Running').length === 2, 'two run');
  const held = created[(await statuses()).indexOf('Pending')]!;
  assert.deepEqual((await task(held['id']))['metadata'], { tenant: 'a' });
});

test('a rule of capacity counts the work that remains', async () => {
  const rules = [
    { type: 'Capacity', matcher: { kind: 'mailing', status: 'Running', fields: ['list'] }, max_capacity: 300 },
  ];
  const mailing = running({ kind: 'mailing', metadata: { list: 'weekly' }, rules, expected_count: 400 });
  const { created } = await create([mailing, mailing]);
  const running1 = await eventually(async () => {
    const all = await Promise.all(created.map(({ id }) => task(id)));
    return all.find(({ status }) => status === 'Running');
  }, 'one runs');
  const other = created.find(({ id }) => id !== running1['id'])!['id'];
  assert.equal((await task(other))['status'], 'Pending');
  const counted = await door.ask('PUT', `/task/${String(running1['id'])}`, { new_success: 150, new_failures: 10 });
  assert.equal(counted.status, 202);
  await untilStatus(other, 'Running');
});
