import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { readEvents, type ServerEvent } from '@heddle/client/internal/event-stream';
import type { NewTaskDto } from '../../src/http/wire/new-task.ts';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const newTask: NewTaskDto = { name: 'A task', kind: 'work' };

let server: TestServer;
let client: HeddleClient;
let baseUrl: string;

before(async () => {
  server = await createTestServer({ config: { authRequired: true, metricsPublic: false } });
  server.tokens.add('hdl_all', ['admin']);
  baseUrl = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = new HeddleClient({ baseUrl: `${baseUrl}/`, token: 'hdl_all' });
});

after(() => server.app.close());

async function refusal(call: Promise<unknown>): Promise<HeddleApiError> {
  const error: unknown = await call.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HeddleApiError, String(error));
  return error;
}

describe('the client', () => {
  test('supports every route', async () => {
    const { batchId, tasks } = await client.submit([newTask, newTask], { idempotencyKey: 'k1' });
    assert.equal((await client.submit([newTask, newTask], { idempotencyKey: 'k1' })).batchId, batchId);
    const [first, second] = tasks.map(({ id }) => id) as [string, string];
    assert.deepEqual(Object.keys((await client.submitMinimal([newTask])).tasks[0]!), ['id']);
    assert.deepEqual(await client.submit([]), { batchId: null, tasks: [], warnings: [] });
    assert.equal((await client.getTask(first)).id, first);
    assert.ok((await client.listTasks({ page: 0, metadata: {} })).length >= 3);
    assert.equal(await client.countProgress(first, { new_success: 2 }), 'applied');
    assert.equal((await client.updateTask(first, { metadata: { a: 1 } })).success, 2);
    assert.equal((await client.pauseTask(first)).status, 'Paused');
    assert.equal((await client.resumeTask(first)).status, 'Pending');
    assert.equal((await client.retryTask(first)).status, 'Pending');
    server.stub.set(first, { state: 'running' });
    assert.equal((await client.finishTask(first, 'Failure', 'why')).failure_reason, 'why');
    assert.equal((await client.cancelTask(second)).status, 'Canceled');
    assert.equal((await client.getDag(batchId!)).tasks.length, 2);
    assert.ok((await client.listBatches({ open: true })).length > 0);
    assert.equal((await client.getBatch(batchId!)).task_count, 2);
    assert.equal(await client.cancelBatch(batchId!), 0);
    assert.deepEqual(await client.listWebhooks({ state: 'dead' }), []);
    const rule = {
      type: 'Concurrency',
      matcher: { kind: 'a', status: 'Running', fields: [] },
      max_concurrency: 1,
    } as const;
    await client.putRule('r', { ...rule, matcher: { ...rule.matcher, fields: [] } });
    assert.equal((await client.getRule('r')).name, 'r');
    assert.equal((await client.listRules()).length, 1);
    await client.removeRule('r');
    await client.putAction('a', { kind: 'Webhook', params: { url: 'https://example.com/', verb: 'Get' } });
    assert.equal((await client.getAction('a')).action.params.verb, 'Get');
    assert.equal((await client.listActions()).length, 1);
    await client.removeAction('a');
    assert.equal((await client.health()).status, 'ok');
    assert.deepEqual(await client.ready(), { status: 'ready' });
    assert.match(await client.metrics(), /tasks_created_total/);
    assert.equal((await client.openapi()).openapi, '3.1.0');
  });

  test('converts errors to exceptions with their code and details', async () => {
    const invalid = await refusal(client.submit([{ ...newTask, timeout: 0 }]));
    assert.deepEqual([invalid.status, invalid.code], [400, 'VALIDATION_FAILED']);
    assert.deepEqual(invalid.details, ['tasks[0].timeout: must be between 1 and 86400, not 0']);
    assert.notEqual(invalid.batchId, null);
    assert.match(invalid.message, /tasks\[0\]\.timeout/);
    assert.equal((await refusal(client.getTask(UNKNOWN))).code, 'NOT_FOUND');
    assert.equal((await refusal(client.explainTask(UNKNOWN))).code, 'NOT_FOUND');
    assert.equal((await refusal(client.replayWebhook(UNKNOWN))).code, 'NOT_FOUND');
    assert.equal((await refusal(client.watchBatch(UNKNOWN).next())).code, 'NOT_FOUND');
    assert.equal((await refusal(new HeddleClient({ baseUrl }).listTasks())).code, 'UNAUTHENTICATED');
  });

  test('a response that is not a problem document is also an error', async () => {
    const proxied = new HeddleClient({
      baseUrl: 'http://proxy.test',
      fetch: () =>
        Promise.resolve(new Response('<h1>Bad gateway</h1>', { status: 502, headers: { 'retry-after': '3' } })),
    });
    const error = await refusal(proxied.listTasks());
    assert.deepEqual([error.status, error.code, error.retryAfterSecs], [502, null, 3]);
  });
});

test('events are read regardless of chunks, without comments', async () => {
  const text = ': hello\n\nretry: 1\n\nevent: change\nid: 7\ndata: {"a":\ndata: "ü"}\n\ndata: x\r\n\r\nevent: none\n\n';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
      bytes.slice(n * size, (n + 1) * size),
    );
    const events: ServerEvent[] = [];
    for await (const event of readEvents(ReadableStream.from(chunks))) events.push(event);
    assert.deepEqual(
      events,
      [
        { name: 'change', id: '7', data: '{"a":\n"ü"}' },
        { name: 'message', id: null, data: 'x' },
      ],
      `chunks of ${size}`,
    );
  }
});
