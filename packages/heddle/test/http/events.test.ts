import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';

import { HeddleClient, type BatchEvent } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { createTestServer, task, type Problem, type TestServer } from '@heddle/test-support/http/server';

interface Live extends TestServer {
  client: HeddleClient;
  address: string;
  batchId: string;
  ids: string[];
}

async function start(context: TestContext, tasks: number, config: { maxEventStreams?: number } = {}): Promise<Live> {
  const server = await createTestServer({ config });
  const address = await server.app.listen({ port: 0, host: '127.0.0.1' });
  context.after(() => server.app.close());
  const client = new HeddleClient({
    baseUrl: address,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal),
  });
  const created = await client.submit(
    Array.from({ length: tasks }, (_, n) => task({ name: `t${n}` }) as { name: string; kind: string }),
  );
  return { ...server, address, client, batchId: created.batchId!, ids: created.tasks.map(({ id }) => id) };
}

describe('following a batch', () => {
  test('sends all tasks first, then changes, then the end', async (context) => {
    const { client, stub, batchId, ids } = await start(context, 2);
    const events: BatchEvent[] = [];
    const followed = (async () => {
      for await (const event of client.watchBatch(batchId)) events.push(event);
    })();
    await eventually(() => events.length === 1, 'the first event');
    assert.deepEqual(events[0]!.tasks.map(({ id }) => id).sort(), [...ids].sort());
    stub.set(ids[0]!, { state: 'running' });
    await eventually(() => events.length === 2, 'the change');
    assert.deepEqual(
      events[1]!.tasks.map(({ id, status }) => [id, status]),
      [[ids[0], 'Running']],
    );
    stub.set(ids[0]!, { state: 'succeeded', ended_at: 1 });
    stub.set(ids[1]!, { state: 'succeeded', ended_at: 1 });
    await followed;
    const end = events.at(-1)!;
    assert.equal(end.type, 'end');
    assert.equal(end.batch.remaining, 0);
    const last = new Map(events.flatMap(({ tasks }) => tasks).map(({ id, status }) => [id, status]));
    assert.deepEqual([...last.values()], ['Success', 'Success']);
    await eventually(() => (stub.listeners.get(batchId)?.size ?? 0) === 0, 'no client listens any more');
  });

  test('many changes are combined into few events', async (context) => {
    const { client, stub, batchId, ids } = await start(context, 1);
    const events: BatchEvent[] = [];
    const followed = (async () => {
      for await (const event of client.watchBatch(batchId)) events.push(event);
    })();
    await eventually(() => events.length === 1, 'the first event');
    for (let n = 1; n <= 500; n += 1) {
      stub.set(ids[0]!, { success_count: n });
      await new Promise(setImmediate);
    }
    stub.set(ids[0]!, { state: 'succeeded', ended_at: 1 });
    await followed;
    assert.ok(events.length < 20, `${events.length} events for 500 changes`);
    assert.equal(events.at(-2)!.tasks[0]!.success, 500);
  });

  test('a large batch is sent in parts, with none missing', async (context) => {
    const { client, stub, batchId, ids } = await start(context, 2500);
    for (const id of ids) stub.set(id, { state: 'canceled', ended_at: 1 });
    const seen = new Set<string>();
    let largest = 0;
    for await (const { tasks } of client.watchBatch(batchId)) {
      largest = Math.max(largest, tasks.length);
      for (const { id } of tasks) seen.add(id);
    }
    assert.equal(seen.size, 2500);
    assert.ok(largest <= 1000);
  });

  test('a broken stream is resumed where it stopped', async (context) => {
    const { client, stub, batchId, ids, app } = await start(context, 2);
    const events: BatchEvent[] = [];
    const followed = (async () => {
      for await (const event of client.watchBatch(batchId)) events.push(event);
    })();
    await eventually(() => events.length === 1, 'the first event');
    stub.set(ids[0]!, { state: 'running' });
    await eventually(() => events.length === 2, 'a change');
    app.server.closeAllConnections();
    stub.set(ids[1]!, { state: 'running' });
    await eventually(
      () => events.at(-1)!.tasks.some(({ id, status }) => id === ids[1] && status === 'Running'),
      'the change missed',
    );
    for (const id of ids) stub.set(id, { state: 'succeeded', ended_at: 1 });
    await followed;
    assert.equal(events.at(-1)!.type, 'end');
  });

  test('the number of streams is limited, and a client that disconnects frees its stream', async (context) => {
    const { client, address, batchId } = await start(context, 1, { maxEventStreams: 1 });
    const leave = new AbortController();
    const first = client.watchBatch(batchId, leave.signal);
    await first.next();
    const refused = await fetch(`${address}/v1/batches/${batchId}/events`);
    assert.equal(refused.status, 429);
    assert.equal(((await refused.json()) as Problem).code, 'TOO_MANY_REQUESTS');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    leave.abort();
    await first.next();
    const follower = await eventually(async () => {
      const response = await fetch(`${address}/v1/batches/${batchId}/events`);
      return response.status === 200 && response;
    }, 'room for another');
    await follower.body!.cancel();
  });

  test('closing the server ends its streams', async (context) => {
    const { app, address, batchId } = await start(context, 1);
    const response = await fetch(`${address}/v1/batches/${batchId}/events`);
    assert.match(response.headers.get('content-type')!, /^text\/event-stream/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    const text = response.text();
    await app.close();
    assert.match(await text, /^retry: 2000\n\n/);
  });

  test('an invalid cursor is rejected', async (context) => {
    const { address, batchId } = await start(context, 1);
    const response = await fetch(`${address}/v1/batches/${batchId}/events`, { headers: { 'last-event-id': 'x' } });
    assert.equal(response.status, 400);
    assert.match(((await response.json()) as Problem).details[0]!, /^last-event-id: /);
  });
});
