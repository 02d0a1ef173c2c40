import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { ModelBooks, Models } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import { host, modelsOf, runOf } from '@heddle/test-support/engine/models/seen';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

interface Model {
  id: string;
  key: string;
  state: string;
  changed_at: string;
  changes: { field: string; old: unknown; new: unknown }[];
}

let models: Models & ModelBooks;
let server: TestServer;

before(async () => {
  const { database } = await createTestDatabase();
  models = modelsOf(database);
  server = await createTestServer({ models });
  await runOf(models, 'net', [host(1), host(2, { os: 'a' }), host(4)]);
  await runOf(models, 'net', [host(2, { os: 'b' }), host(3), host(4)]);
  await runOf(models, 'other/one', [{ model: 'service', key: '10.0.0.1:22/tcp', data: {} }]);
});

after(() => server.app.close());

async function get<Answer>(url: string, status = 200): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, status, response.body);
  return response.json<Answer>();
}

const list = async (query = ''): Promise<string[]> =>
  (await get<Model[]>(`/v1/models${query}`)).map(({ key, state }) => `${state} ${key}`);

test('lists models with filters, newest first, page by page', async () => {
  assert.equal((await list()).length, 5);
  assert.deepEqual(await list('?target=net'), ['new 10.0.0.3', 'known 10.0.0.4', 'changed 10.0.0.2', 'gone 10.0.0.1']);
  assert.deepEqual(await list('?target=net&state=changed'), ['changed 10.0.0.2']);
  assert.deepEqual(await list('?model=service'), ['new 10.0.0.1:22/tcp']);
  assert.deepEqual(await list('?key=10.0.0.1&target=other%2Fone'), ['new 10.0.0.1:22/tcp']);
  assert.deepEqual(await list('?search=0.0.1:22'), ['new 10.0.0.1:22/tcp']);
  assert.deepEqual(await list('?search=B&target=net'), ['changed 10.0.0.2']);
  assert.deepEqual(await list('?changed_since=2199-01-01'), []);
  const [changed] = await get<Model[]>('/v1/models?target=net&state=changed');
  const since = encodeURIComponent(changed!.changed_at);
  assert.deepEqual(await list(`?target=net&changed_since=${since}`), [
    'new 10.0.0.3',
    'changed 10.0.0.2',
    'gone 10.0.0.1',
  ]);
  const first = await get<Model[]>('/v1/models?page_size=3');
  const rest = await get<Model[]>(`/v1/models?page_size=3&after=${first[2]!.id.toUpperCase()}`);
  assert.deepEqual([first.length, rest.length], [3, 2]);
});

test('returns one model, with its changes', async () => {
  const [listed] = await get<Model[]>('/v1/models?state=changed');
  const model = await get<Model & Record<string, unknown>>(`/v1/models/${listed!.id}`);
  assert.deepEqual(model, listed);
  assert.deepEqual(model.changes, [{ field: 'os', old: 'a', new: 'b' }]);
  assert.deepEqual([model['runs'], model['first_run'], model['gone_at']], [2, 1, null]);
  const missing = await get<Problem>(`/v1/models/${newId()}`, 404);
  assert.match(missing.details[0]!, /^model_id: no model has the id /);
});

test('lists targets with their latest runs', async () => {
  const targets =
    await get<{ target: string; runs: number; last_run: Record<string, unknown> }[]>('/v1/models/targets');
  assert.deepEqual(
    targets.map(({ target, runs }) => [target, runs]),
    [
      ['net', 2],
      ['other/one', 1],
    ],
  );
  const { number, complete, by_model } = targets[0]!.last_run;
  assert.deepEqual([number, complete, by_model], [2, true, [{ model: 'host', new: 1, changed: 1, known: 1, gone: 1 }]]);
});

test('rejects invalid filters by name, and readers without a token', async () => {
  for (const query of [
    'state=old',
    'changed_since=yesterday',
    'changed_since=2026-13-45',
    'after=1',
    `after=${newId()}`,
    'model=a+b',
    'key=',
    'search=',
    'search=%00',
  ]) {
    const { details } = await get<Problem>(`/v1/models?${query}`, 400);
    assert.ok(details[0]!.startsWith(query.split('=')[0]!), details[0]);
  }
  const guarded = await createTestServer({ models, config: { authRequired: true } });
  assert.equal((await guarded.app.inject('/v1/models')).statusCode, 401);
  await guarded.app.close();
});
