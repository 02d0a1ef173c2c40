/** The Task Runner API against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type BatchEvent } from '@heddle/client';
import type { JsonObject } from '@heddle/base/json';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import type { BatchDetailDto, DagDto } from '../../src/http/wire/batch.ts';
import type { BasicTaskDto, TaskDto } from '../../src/http/wire/task.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import { handleUrl } from '@heddle/base/signing';
import { DefinitionStore } from '@heddle/core/store/definitions';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, HANDLE_KEY, task, type Problem, type TestServer } from '@heddle/test-support/http/server';

let server: TestServer;
let engine: Engine;

before(async () => {
  const { database } = await createTestDatabase();
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  server = await createTestServer({
    engine,
    database,
    definitions: new DefinitionStore({ database, clock: systemClock }),
  });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

// The response type is asserted by the caller and checked by its assertions.
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
async function call<Answer>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  payload?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Answer; headers: Record<string, unknown> }> {
  const response = await server.app.inject({
    method,
    url,
    headers,
    ...(payload === undefined ? {} : { payload: payload as object }),
  });
  const text = response.body;
  return {
    status: response.statusCode,
    body: (text === '' ? null : JSON.parse(text)) as Answer,
    headers: response.headers,
  };
}

async function submit(tasks: unknown[], headers: Record<string, string> = {}): Promise<TaskDto[]> {
  const { status, body } = await call<TaskDto[]>('POST', '/task', tasks, headers);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

async function getTask(id: string): Promise<TaskDto> {
  const { status, body } = await call<TaskDto>('GET', `/task/${id}`);
  assert.equal(status, 200);
  return body;
}

/** Claims waiting tasks for a worker of the kind, which starts them. */
async function start(kind: string, limit = 10): Promise<string[]> {
  const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit, holder: 'test' });
  return claimed.map(({ id }) => id);
}

let kinds = 0;
/** A separate kind, so that tests do not claim each other's tasks. */
function newKind(): string {
  kinds += 1;
  return `kind-${kinds}`;
}

describe('POST /task', () => {
  test('creates tasks in the order of the request, and GET returns the same', async () => {
    const kind = newKind();
    const webhook = {
      kind: 'Webhook',
      params: { url: 'https://example.com/hook', verb: 'Post', headers: { 'X-A': 'b' } },
    };
    const created = await submit([
      task({ id: 'child', kind, dependencies: [{ id: 'parent', requires_success: false }] }),
      task({
        id: 'parent',
        kind,
        timeout: 60,
        metadata: { key: 'value', nested: { list: [1, null, 'ü', { __x: 0.5 }] } },
        on_success: [webhook],
        rules: [{ type: 'Concurency', matcher: { kind, status: 'Running', fields: ['key'] }, max_concurency: 3 }],
        dedupe_strategy: [{ kind, status: 'Running', fields: ['key'] }],
        expected_count: 10,
        priority: 7,
        retry: { max_attempts: 3, backoff_secs: 0.5 },
      }),
    ]);
    assert.deepEqual(
      created.map(({ local_id, status }) => [local_id, status]),
      [
        ['child', 'Waiting'],
        ['parent', 'Pending'],
      ],
    );
    for (const one of created) {
      const stored = await getTask(one.id);
      assert.deepEqual({ ...stored, last_updated: one.last_updated }, one);
    }
    const [, parent] = created;
    assert.deepEqual(parent!.actions, [{ ...webhook, trigger: 'End', condition: 'Success' }]);
    assert.equal(parent!.rules[0]!.type, 'Concurency');
    assert.equal(parent!.dedupe_strategy[0]!.status, 'Running');
    assert.deepEqual(parent!.retry, {
      max_attempts: 3,
      backoff_secs: 0.5,
      factor: 2,
      max_backoff_secs: 300,
      jitter: 0.5,
    });
  });

  test('returns the batch in a header, and only ids on request', async () => {
    const { status, body, headers } = await call<object[]>('POST', '/task', [task(), task()], {
      prefer: 'return=minimal',
    });
    assert.equal(status, 201);
    assert.equal(headers['preference-applied'], 'return=minimal');
    assert.deepEqual(Object.keys(body[0]!), ['id']);
    const dag = await call<DagDto>('GET', `/dag/${String(headers['x-batch-id'])}`);
    assert.deepEqual(dag.body.tasks.map(({ id }) => id).sort(), (body as { id: string }[]).map(({ id }) => id).sort());
  });

  test('an empty array results in 204', async () => {
    assert.equal((await call('POST', '/task', [])).status, 204);
  });

  test('duplicates are omitted; if all are, 204 with a batch id', async () => {
    const kind = newKind();
    const twin = task({
      id: 'a',
      kind,
      metadata: { p: 1 },
      dedupe_strategy: [{ kind, status: 'Pending', fields: ['p'] }],
    });
    const first = await submit([twin]);
    const again = await call('POST', '/task', [twin]);
    assert.equal(again.status, 204);
    assert.match(String(again.headers['x-batch-id']), /^[0-9a-f-]{36}$/);
    const partly = await submit([twin, task({ id: 'b', kind, dependencies: [{ id: 'a' }] })]);
    assert.deepEqual(
      partly.map(({ local_id }) => local_id),
      ['b'],
    );
    assert.equal(partly[0]!.status, 'Waiting');
    assert.deepEqual(await start(kind), [first[0]!.id]);
    await call('PATCH', `/task/${first[0]!.id}`, { status: 'Success' });
    await engine.sweep();
    assert.equal((await getTask(partly[0]!.id)).status, 'Pending');
  });

  test('a task whose deduplicated parent failed is returned as it ended', async () => {
    const kind = newKind();
    const twin = task({
      id: 'a',
      kind,
      metadata: { p: 1 },
      dedupe_strategy: [{ kind, status: 'Failure', fields: ['p'] }],
    });
    const [first] = await submit([twin]);
    await start(kind);
    await call('PATCH', `/task/${first!.id}`, { status: 'Failure', failure_reason: 'broken' });
    const [child] = await submit([twin, task({ id: 'b', kind, dependencies: [{ id: 'a' }] })]);
    assert.equal(child!.status, 'Failure');
    assert.notEqual(child!.ended_at, null);
    assert.notEqual(child!.failure_reason, null);
  });

  test('an idempotency key creates once, returns the same, and rejects another body', async () => {
    const headers = { 'idempotency-key': 'once-1' };
    const body = [task({ id: 'x', metadata: { a: 1, b: 2 } })];
    const first = await call<TaskDto[]>('POST', '/task', body, headers);
    const second = await call<TaskDto[]>('POST', '/task', [task({ metadata: { b: 2, a: 1 }, id: 'x' })], headers);
    assert.equal(second.status, 201);
    assert.equal(second.headers['x-batch-id'], first.headers['x-batch-id']);
    assert.deepEqual(second.body, first.body);
    const other = await call<Problem>('POST', '/task', [task({ id: 'y' })], headers);
    assert.equal(other.status, 422);
    assert.equal(other.body.code, 'IDEMPOTENCY_MISMATCH');
  });

  test('concurrent requests each get their own response', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        call<TaskDto[]>(
          'POST',
          '/task',
          [task({ name: `n-${n}` })],
          n % 10 === 0 ? { 'idempotency-key': 'shared' } : {},
        ),
      ),
    );
    const created = answers.filter(({ status }) => status === 201);
    // The four with one key but differing bodies: one wins.
    assert.equal(created.length, 37);
    assert.equal(answers.filter(({ status }) => status === 422).length, 3);
    for (const { body } of created) assert.equal((await getTask(body[0]!.id)).name, body[0]!.name);
  });

  test('secrets in headers and URLs are not returned', async () => {
    const secret = ['Authorization', 'X-Api-Key', 'X-Auth-Key', 'X-JWT', 'X-Session-Id'];
    const headers = { ...Object.fromEntries(secret.map((name) => [name, 's3cret'])), 'X-Plain': 'seen' };
    const url = 'http://127.0.0.1:9/x?api_key=s3cret&page=2';
    const action = { kind: 'Webhook', params: { url, verb: 'Post', headers } };
    const [created] = await submit([task({ on_success: [action] })]);
    const { body: read } = await call<TaskDto>('GET', `/task/${created!.id}`);
    for (const { actions } of [created!, read]) {
      const redacted = Object.fromEntries(secret.map((name) => [name, '[redacted]']));
      assert.deepEqual(actions[0]!.params.headers, { ...redacted, 'X-Plain': 'seen' });
      assert.equal(actions[0]!.params.url, 'http://127.0.0.1:9/x?api_key=[redacted]&page=2');
    }
  });

  test('named rules and actions are copied at submission', async () => {
    const kind = newKind();
    const rule = { type: 'Concurrency', matcher: { kind, status: 'Running', fields: [] }, max_concurrency: 1 };
    const action = { kind: 'Webhook', params: { url: 'https://example.com/end', verb: 'Post' } };
    assert.equal((await call('PUT', '/v1/rules/one-at-a-time', rule)).status, 200);
    assert.equal((await call('PUT', '/v1/actions/tell', action)).status, 200);
    const [created] = await submit([task({ kind, rules: [{ ref: 'one-at-a-time' }], on_failure: [{ ref: 'tell' }] })]);
    assert.equal((await call('DELETE', '/v1/rules/one-at-a-time')).status, 204);
    const stored = await getTask(created!.id);
    assert.deepEqual(stored.rules, [
      { type: 'Concurency', matcher: { kind, status: 'Running', fields: [] }, max_concurency: 1 },
    ]);
    assert.deepEqual(stored.actions, [{ ...action, trigger: 'End', condition: 'Failure' }]);
    const missing = await call<Problem>('POST', '/task', [task({ rules: [{ ref: 'one-at-a-time' }] })]);
    assert.equal(missing.status, 400);
    assert.match(missing.body.details[0]!, /^tasks\[0\]\.rules\[0\]\.ref: /);
  });
});

describe('PATCH /task/{id}', () => {
  test('finishes a running task, counts and merges; a repeat changes nothing; the other outcome is 409', async () => {
    const kind = newKind();
    const [parent, child] = await submit([
      task({ id: 'p', kind, metadata: { keep: 1, drop: 2 } }),
      task({ id: 'c', kind, dependencies: [{ id: 'p' }] }),
    ]);
    const early = await call<Problem>('PATCH', `/task/${parent!.id}`, { status: 'Success' });
    assert.equal(early.status, 409);
    await start(kind);
    const done = { status: 'Success', new_success: 10, new_failures: 2, metadata: { drop: null, added: { x: 1 } } };
    const finished = await call<TaskDto>('PATCH', `/task/${parent!.id}`, done);
    assert.equal(finished.status, 200);
    assert.equal(finished.body.status, 'Success');
    assert.deepEqual(finished.body.metadata, { keep: 1, added: { x: 1 } });
    assert.deepEqual([finished.body.success, finished.body.failures], [10, 2]);
    assert.equal((await getTask(child!.id)).status, 'Pending');
    const again = await call<TaskDto>('PATCH', `/task/${parent!.id}`, done);
    assert.equal(again.status, 200);
    assert.deepEqual([again.body.success, again.body.failures], [10, 2]);
    const other = await call<Problem>('PATCH', `/task/${parent!.id}`, { status: 'Failure', failure_reason: 'no' });
    assert.equal(other.status, 409);
    assert.equal((await call('PATCH', `/task/${parent!.id}`, { new_success: 1 })).status, 409);
  });

  test('a failure fails dependents that require success, with its reason', async () => {
    const kind = newKind();
    const [parent, strict, lax] = await submit([
      task({ id: 'p', kind }),
      task({ id: 's', kind, dependencies: [{ id: 'p' }] }),
      task({ id: 'l', kind, dependencies: [{ id: 'p', requires_success: false }] }),
    ]);
    await start(kind);
    const failed = await call<TaskDto>('PATCH', `/task/${parent!.id}`, {
      status: 'Failure',
      failure_reason: 'disk full',
    });
    assert.equal(failed.body.failure_reason, 'disk full');
    assert.equal((await getTask(strict!.id)).status, 'Failure');
    assert.equal((await getTask(lax!.id)).status, 'Pending');
  });

  test('a policy defines which failures count as success, also transitively', async () => {
    const kind = newKind();
    const [parent, child, grandchild] = await submit([
      task({ id: 'p', kind, policy: 'ContinueOnFailure' }),
      task({ id: 'c', kind, dependencies: [{ id: 'p' }], policy: 'ContinueOnPartialFailure' }),
      task({ id: 'g', kind, dependencies: [{ id: 'c' }] }),
    ]);
    await start(kind);
    await call('PATCH', `/task/${parent!.id}`, { status: 'Failure', failure_reason: 'disk full' });
    assert.equal((await getTask(parent!.id)).status, 'Failure');
    assert.equal((await getTask(child!.id)).status, 'Pending');
    await start(kind);
    await call('PATCH', `/task/${child!.id}`, { status: 'Failure', failure_reason: 'disk full again' });
    assert.equal((await getTask(grandchild!.id)).status, 'Failure', 'a failure is no partial one');
    const { status, body } = await call<Problem>('POST', '/task', [task({ policy: 'ContinueOnSunday' })]);
    assert.equal(status, 400);
    assert.match(body.details.join(), /policy/);
  });

  test('updates without a status do not change the state', async () => {
    const [created] = await submit([task()]);
    const updated = await call<TaskDto>('PATCH', `/task/${created!.id}`, {
      metadata: { a: { b: 1 } },
      new_failures: 3,
    });
    assert.equal(updated.status, 200);
    assert.equal(updated.body.status, 'Pending');
    assert.equal(updated.body.failures, 3);
    assert.deepEqual(updated.body.metadata, { a: { b: 1 } });
  });

  test('concurrent updates of one task all count', async () => {
    const [created] = await submit([task()]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call('PATCH', `/task/${created!.id}`, { new_success: 1 })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal((await getTask(created!.id)).success, 20);
  });
});

describe('PUT /task/{id}', () => {
  test('202 means counted; unknown 404; ended 409; a key counts once; concurrent calls all count', async () => {
    const kind = newKind();
    const [created] = await submit([task({ kind })]);
    const url = `/task/${created!.id}`;
    await start(kind);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => call('PUT', url, n % 2 ? { new_success: 2 } : { new_failures: 1 })),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([202]));
    const counted = await getTask(created!.id);
    assert.deepEqual([counted.success, counted.failures], [50, 25]);
    const key = { 'idempotency-key': 'progress-1' };
    assert.deepEqual((await call('PUT', url, { new_success: 5 }, key)).body, { id: created!.id, result: 'applied' });
    assert.deepEqual((await call('PUT', url, { new_success: 5 }, key)).body, { id: created!.id, result: 'repeated' });
    assert.equal((await getTask(created!.id)).success, 55);
    assert.equal((await call('PUT', '/task/00000000-0000-7000-8000-000000000000', { new_success: 1 })).status, 404);
    await call('PATCH', url, { status: 'Success' });
    assert.equal((await call('PUT', url, { new_success: 1 })).status, 409);
  });

  test('the largest counts do not overflow', async () => {
    const [created] = await submit([task()]);
    for (let n = 0; n < 3; n += 1) {
      const { status } = await call('PUT', `/task/${created!.id}`, {
        new_success: 2_147_483_647,
        new_failures: 2_147_483_647,
      });
      assert.ok(status === 202 || (status >= 400 && status < 500), `answered ${status}`);
      const patched = await call('PATCH', `/task/${created!.id}`, { new_success: 2_147_483_647 });
      assert.ok(
        patched.status === 200 || (patched.status >= 400 && patched.status < 500),
        `answered ${patched.status}`,
      );
    }
    assert.equal((await call('GET', `/task/${created!.id}`)).status, 200);
  });
});

describe('cancel, pause, resume, retry, explain', () => {
  test('DELETE cancels once, and dependents that require success fail', async () => {
    const [parent, child] = await submit([task({ id: 'p' }), task({ id: 'c', dependencies: [{ id: 'p' }] })]);
    const canceled = await call<TaskDto>('DELETE', `/task/${parent!.id}`);
    assert.equal(canceled.status, 200);
    assert.equal(canceled.body.status, 'Canceled');
    assert.equal((await getTask(child!.id)).status, 'Failure');
    assert.equal((await call('DELETE', `/task/${parent!.id}`)).status, 409);
    assert.equal((await call('DELETE', `/task/${child!.id}`)).status, 409);
  });

  test('a paused task does not start until it is resumed', async () => {
    const kind = newKind();
    const [created] = await submit([task({ kind })]);
    const paused = await call<TaskDto>('PATCH', `/task/pause/${created!.id}`);
    assert.deepEqual([paused.status, paused.body.status], [200, 'Paused']);
    assert.deepEqual(await start(kind), []);
    const resumed = await call<TaskDto>('PATCH', `/task/resume/${created!.id}`);
    assert.deepEqual([resumed.status, resumed.body.status], [200, 'Pending']);
    assert.deepEqual(await start(kind), [created!.id]);
  });

  test('retry opens the next attempt of a failed task', async () => {
    const kind = newKind();
    const [created] = await submit([task({ kind })]);
    await start(kind);
    assert.equal((await call('POST', `/v1/tasks/${created!.id}/retry`)).status, 409);
    await call('PATCH', `/task/${created!.id}`, { status: 'Failure', failure_reason: 'x' });
    const retried = await call<TaskDto>('POST', `/v1/tasks/${created!.id}/retry`);
    assert.deepEqual([retried.status, retried.body.status], [200, 'Pending']);
    assert.deepEqual(await start(kind), [created!.id]);
    assert.equal((await getTask(created!.id)).attempt, 2);
  });

  test('explain shows what a waiting task waits for', async () => {
    const [parent, child] = await submit([
      task({ id: 'p', name: 'First' }),
      task({ id: 'c', dependencies: [{ id: 'p' }] }),
    ]);
    const { status, body } = await call<{ summary: string; obstacles: JsonObject[] }>(
      'GET',
      `/v1/tasks/${child!.id}/explain`,
    );
    assert.equal(status, 200);
    assert.equal(body.obstacles[0]!.type, 'parents');
    assert.deepEqual(body.obstacles[0]!.parents, [
      { id: parent!.id, name: 'First', status: 'Pending', requires_success: true },
    ]);
  });

  test('unknown ids are 404 everywhere', async () => {
    const id = '00000000-0000-7000-8000-00000000dead';
    const calls: ['GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', string, unknown?][] = [
      ['GET', `/task/${id}`],
      ['PATCH', `/task/${id}`, { status: 'Success' }],
      ['PATCH', `/task/${id}`, { new_success: 1 }],
      ['PUT', `/task/${id}`, { new_success: 1 }],
      ['DELETE', `/task/${id}`],
      ['PATCH', `/task/pause/${id}`],
      ['PATCH', `/task/resume/${id}`],
      ['POST', `/v1/tasks/${id}/retry`],
      ['GET', `/v1/tasks/${id}/explain`],
      ['GET', `/v1/tasks/${id}/attempts`],
      ['GET', `/dag/${id}`],
      ['GET', `/v1/batches/${id}`],
      ['DELETE', `/v1/batches/${id}`],
      ['GET', `/v1/batches/${id}/events`],
      ['POST', `/v1/webhooks/${id}/replay`],
    ];
    for (const [method, url, payload] of calls) {
      const { status, body } = await call<Problem>(method, url, payload);
      assert.equal(status, 404, `${method} ${url} answered ${status} ${JSON.stringify(body)}`);
      assert.equal(body.code, 'NOT_FOUND');
    }
  });
});

describe('lists', () => {
  test('tasks newest first, by page, by every filter', async () => {
    const kind = newKind();
    const created = await submit(
      ['alpha', 'beta', 'gamma'].map((name, n) => task({ name, kind, metadata: { n, tags: ['x', name] } })),
    );
    const list = async (query: Record<string, string>): Promise<string[]> => {
      const { status, body } = await call<BasicTaskDto[]>(
        'GET',
        `/task?${new URLSearchParams({ kind, ...query }).toString()}`,
      );
      assert.equal(status, 200, JSON.stringify(body));
      return body.map(({ name }) => name);
    };
    assert.deepEqual(await list({}), ['gamma', 'beta', 'alpha']);
    assert.deepEqual(await list({ page: '1', page_size: '2' }), ['alpha']);
    assert.deepEqual(await list({ name: 'ET' }), ['beta']);
    assert.deepEqual(await list({ name: '%' }), []);
    assert.deepEqual(await list({ metadata: '{"tags":["beta"]}' }), ['beta']);
    assert.deepEqual(await list({ metadata: '{"n":2}' }), ['gamma']);
    assert.deepEqual(await list({ status: 'Running' }), []);
    assert.deepEqual(await list({ status: 'Pending', batch_id: created[0]!.batch_id.toUpperCase() }), [
      'gamma',
      'beta',
      'alpha',
    ]);
    assert.deepEqual(await list({ page: '2147483647', page_size: '100' }), []);
  });

  test('a batch: list, progress by status, cancel', async () => {
    const created = await submit([task({ id: 'a' }), task({ id: 'b', dependencies: [{ id: 'a' }] })]);
    const id = created[0]!.batch_id;
    const open = await call<{ id: string }[]>('GET', '/v1/batches?open=true');
    assert.ok(open.body.some((batch) => batch.id === id));
    const detail = await call<BatchDetailDto>('GET', `/v1/batches/${id}`);
    assert.deepEqual(detail.body.by_status, { Pending: 1, Waiting: 1 });
    assert.deepEqual((await call('DELETE', `/v1/batches/${id}`)).body, { canceled: 2 });
    const ended = await call<BatchDetailDto>('GET', `/v1/batches/${id}`);
    assert.equal(ended.body.remaining, 0);
    assert.deepEqual(ended.body.by_status, { Canceled: 2 });
    const dag = await call<DagDto>('GET', `/dag/${id}`);
    assert.deepEqual(dag.body.links, [{ parent_id: created[0]!.id, child_id: created[1]!.id, requires_success: true }]);
  });
});

describe('handles', () => {
  const pathOf = (id: string, attempt: number, key: Uint8Array = HANDLE_KEY): string => handleUrl('', id, attempt, key);

  test('a handle reads, counts and finishes; it is valid after the end; an older attempt is rejected', async () => {
    const kind = newKind();
    const [created] = await submit([task({ kind, retry: { max_attempts: 2, backoff_secs: 0, jitter: 0 } })]);
    await start(kind);
    const first = pathOf(created!.id, 1);
    assert.equal((await call('GET', first)).status, 200);
    assert.equal((await call('PUT', first, { new_success: 1 })).status, 202);
    const failed = await call<TaskDto>('PATCH', first, { status: 'Failure', failure_reason: 'flaky' });
    assert.deepEqual([failed.status, failed.body.status], [200, 'Pending']);
    await engine.sweep();
    assert.deepEqual(await start(kind), [created!.id]);
    for (const [method, payload] of [
      ['GET', undefined],
      ['PUT', { new_success: 1 }],
      ['PATCH', { status: 'Success' }],
    ] as const) {
      const { status, body } = await call<Problem>(method, first, payload);
      assert.deepEqual([status, body.code], [403, 'INVALID_HANDLE'], `${method} with an old handle`);
    }
    const second = pathOf(created!.id, 2);
    assert.equal((await call<TaskDto>('PATCH', second, { status: 'Success' })).body.status, 'Success');
    assert.equal((await call('PATCH', second, { status: 'Success' })).status, 200);
    assert.equal((await call('PATCH', second, { status: 'Failure', failure_reason: 'x' })).status, 409);
    assert.equal((await call('GET', second)).status, 200);
    assert.equal((await call('GET', pathOf(created!.id, 2, Buffer.alloc(32)))).status, 403);
  });
});

test('a batch is followed until it ends', async () => {
  const kind = newKind();
  const created = await submit([task({ id: 'a', kind }), task({ id: 'b', kind, dependencies: [{ id: 'a' }] })]);
  const baseUrl = await server.app.listen({ port: 0, host: '127.0.0.1' });
  const client = new HeddleClient({ baseUrl });
  const statuses = new Map<string, string[]>(created.map(({ id }) => [id, []]));
  let last: BatchEvent | undefined;
  let began = false;
  const followed = (async () => {
    for await (const event of client.watchBatch(created[0]!.batch_id)) {
      for (const { id, status } of event.tasks) statuses.get(id)!.push(status);
      began = true;
      last = event;
    }
  })();
  await eventually(() => began, 'the first event');
  for (const { id } of created) {
    await eventually(async () => (await start(kind)).includes(id), 'the claim');
    await eventually(() => statuses.get(id)!.includes('Running'), 'Running is reported');
    await client.finishTask(id, 'Success');
  }
  await followed;
  assert.deepEqual([last!.type, last!.batch.remaining], ['end', 0]);
  for (const told of statuses.values()) assert.equal(told.at(-1), 'Success');
  assert.equal(statuses.get(created[0]!.id)![0], 'Pending');
});
