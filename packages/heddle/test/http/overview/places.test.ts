/** Workers, queues and slots over the API, on a real engine and a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { createOverview } from '@heddle/core/engine/overview/overview';
import type { DeliveryDto } from 'heddle/internal/http/wire/delivery';
import type { ListedQueueDto, SlotDto, SlotPageDto, WorkerDto } from 'heddle/internal/http/wire/places';
import { claimKind, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';

let bench: Bench;
let server: TestServer;
let queue: PostgresQueue;

before(async () => {
  bench = await newBench();
  const { engine, database } = bench;
  queue = new PostgresQueue({ database, clock: systemClock, log: silentLogger });
  const overview = createOverview({ database, clock: systemClock });
  server = await createTestServer({ engine, database, overview, queues: queue });
});

after(async () => {
  await server.app.close();
  await queue.close();
  await bench.engine.close();
});

async function get<Answer>(url: string): Promise<Answer> {
  const response = await server.app.inject(url);
  assert.equal(response.statusCode, 200, response.body);
  return response.json<Answer>();
}

async function post(url: string, payload: object): Promise<number> {
  const response = await server.app.inject({ method: 'POST', url, payload });
  assert.ok(response.statusCode < 300, response.body);
  return response.statusCode;
}

const workerOf = async (name: string): Promise<WorkerDto | undefined> =>
  (await get<WorkerDto[]>('/v1/workers')).find((worker) => worker.name === name);

/** Moves what was recorded of a worker into the past. */
async function age(holder: string, seconds: number): Promise<void> {
  for (const table of ['worker', 'claimer']) {
    await bench.database.query(
      {
        name: `age.${table}`,
        text: `update heddle.${table} set seen_at = seen_at - $2 * interval '1 second' where holder = $1`,
      },
      [holder, seconds],
    );
  }
}

describe('workers', () => {
  test('a worker that describes itself in its claims, from its start to its end', async () => {
    const task = newTask({ kind: 'pulled', name: 'a task' });
    await submitTasks(bench.engine, [task]);
    const started_at = '2026-01-31T08:00:00.000Z';
    const worker = { version: '1.2.3', host: 'box', concurrency: 4, started_at };
    await post('/v1/work/claim', { kinds: ['pulled', 'other'], holder: 'box/1', worker });
    const { last_seen_at, tasks, ...shown } = (await workerOf('box/1'))!;
    assert.deepEqual(shown, {
      id: 'box/1',
      name: 'box/1',
      type: 'worker',
      kinds: ['pulled', 'other'],
      running: 1,
      state: 'live',
      ...worker,
    });
    assert.ok(Number.isFinite(Date.parse(last_seen_at)));
    assert.deepEqual(
      tasks.map(({ claimed_at: _, ...each }) => each),
      [{ id: task.id, name: 'a task', kind: 'pulled' }],
    );
    await post(`/v1/work/${task.id}/complete`, { attempt: 1, holder: 'box/1' });
    assert.equal((await workerOf('box/1'))!.running, 0);
    assert.equal(await post('/v1/work/leave', { holder: 'box/1' }), 204);
    assert.equal(await workerOf('box/1'), undefined);
  });

  test('a silent worker becomes stale, then lost, and is forgotten after a day; its running tasks keep it alive', async () => {
    await post('/v1/work/claim', { kinds: ['quiet'], holder: 'quiet/1' });
    assert.deepEqual([(await workerOf('quiet/1'))!.type, (await workerOf('quiet/1'))!.state], ['pull', 'live']);
    await age('quiet/1', 40);
    assert.equal((await workerOf('quiet/1'))!.state, 'stale');
    await age('quiet/1', 40);
    assert.equal((await workerOf('quiet/1'))!.state, 'lost');

    await submitTasks(bench.engine, [newTask({ kind: 'quiet' })]);
    await post('/v1/work/claim', { kinds: ['quiet'], holder: 'quiet/1' });
    await age('quiet/1', 300);
    assert.equal((await workerOf('quiet/1'))!.state, 'live');

    await post('/v1/work/claim', { kinds: ['old'], holder: 'old/1' });
    await age('old/1', 90_000);
    assert.equal(await workerOf('old/1'), undefined);
    await bench.engine.retain(100);
    const left = await bench.database.query({
      name: 'left',
      text: `select 1 from heddle.claimer where holder = 'old/1'`,
    });
    assert.equal(left.length, 0);
  });

  test('a worker that reads queues', async () => {
    await bench.engine.workersSeen([{ worker: 'reader/1', kinds: ['read'], concurrency: 7 }]);
    const { type, kinds, concurrency } = (await workerOf('reader/1'))!;
    assert.deepEqual({ type, kinds, concurrency }, { type: 'queue_worker', kinds: ['read'], concurrency: 7 });
    await bench.engine.present([
      {
        holder: 'reader/1',
        type: 'queue_worker',
        version: '1',
        host: 'h',
        kinds: ['read'],
        concurrency: 7,
        running: 2,
        started_at: 0,
      },
    ]);
    await bench.engine.leave('reader/1');
    // A message that it sent before may be handled after that.
    await bench.engine.workersSeen([{ worker: 'reader/1', kinds: ['read'], concurrency: 7 }]);
    assert.equal(await workerOf('reader/1'), undefined);
  });
});

describe('queues', () => {
  test('kinds with their depth, age and workers, and queues with their messages', async () => {
    await submitTasks(
      bench.engine,
      [1, 2, 3].map(() => newTask({ kind: 'deep' })),
    );
    await claimKind(bench.engine, 'deep', 1);
    await submitTasks(bench.engine, [newTask({ kind: 'deep', delay_ms: 3_600_000 })]);
    await queue.send('worker:deep', [{ body: 'a' }, { body: 'b' }, { body: 'c', delay_ms: 60_000 }]);
    const [message] = await queue.receive('worker:deep', { max: 1, wait_ms: 0, visibility_ms: 60_000 });
    const listed = await get<ListedQueueDto[]>('/v1/queues');
    const kind = listed.find(({ name }) => name === 'deep')!;
    assert.deepEqual(
      { ...kind, oldest_at: typeof kind.oldest_at },
      {
        name: 'deep',
        type: 'kind',
        ready: { n: 2, n_capped: false },
        in_flight: 1,
        delayed: 1,
        dead: 0,
        oldest_at: 'string',
        workers: 1,
      },
    );
    const messages = listed.find(({ name }) => name === 'worker:deep')!;
    assert.deepEqual(
      [messages.ready.n, messages.in_flight, messages.delayed, messages.dead, messages.workers],
      [1, 1, 1, 0, 1],
    );
    await queue.deadLetter('worker:deep', [{ receipt: message!.receipt, reason: 'broken' }]);
    const after = (await get<ListedQueueDto[]>('/v1/queues')).find(({ name }) => name === 'worker:deep')!;
    assert.deepEqual([after.in_flight, after.dead], [0, 1]);
  });
});

describe('slots', () => {
  test('who holds a slot and who waits for it, the fullest first', async () => {
    const rule = (kind: string, max: number) => [
      { type: 'concurrency' as const, matcher: { kind, fields: ['tenant'] }, max },
    ];
    const tasks = (kind: string, max: number, count: number) =>
      Array.from({ length: count }, (_, index) =>
        newTask({ kind, name: `${kind} ${index}`, metadata: { tenant: 'acme' }, rules: rule(kind, max) }),
      );
    const full = tasks('full', 2, 5);
    const half = tasks('half', 4, 2);
    await submitTasks(bench.engine, [...full, ...half]);
    await claimKind(bench.engine, 'full');
    await claimKind(bench.engine, 'half');

    const { slots, next } = await get<SlotPageDto>('/v1/slots?page_size=1');
    const [first] = slots;
    assert.deepEqual(
      {
        ...first!,
        waiting_since: null,
        holders: first!.holders.map(({ name, status }) => [name, status]),
        waiters: first!.waiters.map(({ name }) => name),
      },
      {
        id: first!.id,
        rule: 'Concurrency',
        kind: 'full',
        fields: { tenant: 'acme' },
        max: 2,
        used: 2,
        full: true,
        waiting: { n: 3, n_capped: false },
        waiting_since: null,
        holders: [
          ['full 0', 'Running'],
          ['full 1', 'Running'],
        ],
        waiters: ['full 2', 'full 3', 'full 4'],
      },
    );
    const second = await get<SlotPageDto>(`/v1/slots?page_size=1&after=${next}`);
    assert.deepEqual(
      second.slots.map(({ kind, max, used, full }) => ({ kind, max, used, full })),
      [{ kind: 'half', max: 4, used: 2, full: false }],
    );
    assert.equal(second.next, null);
    assert.deepEqual(await get<SlotDto>(`/v1/slots/${first!.id}`), first);

    const missing = await server.app.inject(`/v1/slots/${'0'.repeat(16)}`);
    assert.equal(missing.statusCode, 404);
    const invalid = await server.app.inject('/v1/slots/x');
    assert.equal(invalid.statusCode, 400);
  });
});

test('webhook deliveries by target, page by page', async () => {
  const insert = `insert into heddle.delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action,
      idempotency_key, state, tries, created_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'success', 0, 'https://' || (n % 2) || '.example',
      jsonb_build_object('trigger', 'success', 'origin', 'x', 'params', jsonb_build_object('url', 'https://a.example/' || n, 'verb', 'Post')),
      'k', 'delivered', 1, now() from generate_series(1, 6) n`;
  await bench.database.query({ name: 'deliveries', text: insert });
  const origin = encodeURIComponent('https://1.example');
  const first = await get<DeliveryDto[]>(`/v1/webhooks?origin=${origin}&page_size=2`);
  const second = await get<DeliveryDto[]>(`/v1/webhooks?origin=${origin}&page_size=2&after=${first.at(-1)!.id}`);
  assert.deepEqual([first.length, second.length], [2, 1]);
  assert.equal(new Set([...first, ...second].map(({ id }) => id)).size, 3);
  assert.ok([...first, ...second].every((delivery) => delivery.origin === 'https://1.example'));
  const gone = await server.app.inject(`/v1/webhooks?after=${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}`);
  assert.equal(gone.statusCode, 400);
});
