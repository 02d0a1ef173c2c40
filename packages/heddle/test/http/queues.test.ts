/** Queues over the API, on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, type Problem, type TestServer } from '@heddle/test-support/http/server';

let queue: PostgresQueue;
let server: TestServer;

before(async () => {
  const { database } = await createTestDatabase();
  queue = new PostgresQueue({ database, clock: systemClock, log: silentLogger });
  server = await createTestServer({ queues: queue });
});

after(async () => {
  await server.app.close();
  await queue.close();
});

async function deadLetter(name: string, bodies: readonly string[]): Promise<string[]> {
  await queue.send(
    name,
    bodies.map((body) => ({ body })),
  );
  const messages = await queue.receive(name, { max: 10, wait_ms: 0, visibility_ms: 60_000 });
  await queue.deadLetter(
    name,
    messages.map(({ receipt }) => ({ receipt, reason: 'names no task' })),
  );
  return messages.map(({ id }) => id);
}

test('counts messages, lists dead letters and redrives them', async () => {
  const name = 'worker:Tcp Syn/1';
  const ids = await deadLetter(name, ['one', 'two']);
  await deadLetter('manager', ['three']);
  const path = `/v1/queues/${encodeURIComponent(name)}`;
  const get = async (url: string): Promise<unknown> => (await server.app.inject(url)).json();
  assert.deepEqual(await get(path), { name, visible: 0, in_flight: 0, delayed: 0, dead: 2 });
  const letters = (await get(`/v1/dead-letters?queue=${encodeURIComponent(name)}`)) as Record<string, unknown>[];
  assert.deepEqual(letters.map(({ id }) => id).sort(), [...ids].sort());
  assert.equal(letters[0]!['reason'], 'names no task');
  assert.ok(Number.isFinite(Date.parse(letters[0]!['dead_lettered_at'] as string)));
  assert.equal(((await get('/v1/dead-letters')) as unknown[]).length, 3);
  assert.equal(((await get('/v1/dead-letters?page=1&page_size=2')) as unknown[]).length, 1);

  const redrive = async (payload: object): Promise<unknown> =>
    (await server.app.inject({ method: 'POST', url: `${path}/redrive`, payload })).json();
  assert.deepEqual(await redrive({ ids: [ids[0]!.toUpperCase(), newId()] }), { redriven: 1 });
  assert.deepEqual(await redrive({}), { redriven: 1 });
  assert.deepEqual(await get(path), { name, visible: 2, in_flight: 0, delayed: 0, dead: 0 });
});

test('rejects invalid ids and unknown members', async () => {
  for (const payload of [{ ids: ['x'] }, { ids: [] }, { id: newId() }]) {
    const response = await server.app.inject({ method: 'POST', url: '/v1/queues/manager/redrive', payload });
    assert.equal(response.statusCode, 400);
    assert.equal(response.json<Problem>().code, 'VALIDATION_FAILED');
  }
});
