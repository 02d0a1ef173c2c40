/** The pull API for workers, against the real engine on a real PostgreSQL. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine } from '@heddle/core/engine/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import type { Database, Statement } from '@heddle/core/store/database';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { createTestServer, task, type TestServer } from '@heddle/test-support/http/server';

const AGE: Statement = {
  name: 'test.age_leases',
  text: `with aged as (update heddle.task set updated_at = updated_at - interval '1 hour' where id = any($1::uuid[]))
    update heddle.lease set check_at = check_at - interval '1 hour' where task_ids && $1::uuid[]`,
};

const CLAIMED_ON: Statement = {
  name: 'test.claimed_on',
  text: `select 1 as seen from heddle.claimer c join heddle.kind k on k.id = c.lane where k.name = $1`,
};

let server: TestServer;
let engine: Engine;
let database: Database;
let client: HeddleClient;
let baseUrl: string;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  server = await createTestServer({ engine, database });
  baseUrl = await server.app.listen({ host: '127.0.0.1', port: 0 });
  client = new HeddleClient({ baseUrl });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

let kinds = 0;
/** A separate kind, so that tests do not claim each other's tasks. */
function newKind(): string {
  kinds += 1;
  return `kind-${kinds}`;
}

async function submit(kind: string, count = 1, change: Record<string, unknown> = {}): Promise<string[]> {
  const tasks = Array.from({ length: count }, () => task({ kind, ...change }));
  const submitted = await client.submitMinimal(tasks as unknown as Parameters<HeddleClient['submit']>[0]);
  return submitted.tasks.map(({ id }) => id);
}

/** Stores a workflow; the root's children are given. */
async function submitWorkflow(mode: 'sequential' | 'parallel', children: unknown[]): Promise<void> {
  const response = await server.app.inject({
    method: 'POST',
    url: '/v1/workflows',
    payload: { root: { mode, children } },
  });
  assert.equal(response.statusCode, 201, response.body);
}

/** Resolves when a claim of the kind has reached the database: if it finds nothing, it waits from then on. */
async function waitsOn(kind: string): Promise<void> {
  await eventually(async () => (await database.query(CLAIMED_ON, [kind])).length > 0, `a claim on ${kind}`);
}

/** Status and code of a rejection. */
async function refusal(work: Promise<unknown>): Promise<[number, string | null]> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HeddleApiError, `not refused: ${String(error)}`);
  return [error.status, error.code];
}

describe('claims', () => {
  test('return each task once, with its input, highest priority first', async () => {
    const kind = newKind();
    const [low] = await submit(kind, 1, { metadata: { n: 1 } });
    const [high] = await submit(kind, 1, { priority: 5, metadata: { n: 2 } });
    const claimed = await client.work.claim({ kinds: [kind, newKind()], max: 10, holder: 'a test' });
    assert.deepEqual(
      claimed.map(({ id, kind: of, attempt, input, parent_id }) => [id, of, attempt, input, parent_id]),
      [
        [high, kind, 1, { n: 2 }, null],
        [low, kind, 1, { n: 1 }, null],
      ],
    );
    assert.deepEqual(await client.work.claim({ kinds: [kind] }), []);
    assert.equal((await client.getTask(low!)).status, 'Running');
  });

  test('wait for a task, and return as soon as there is one', async () => {
    const kind = newKind();
    const waiting = client.work.claim({ kinds: [kind], wait_secs: 60 });
    await waitsOn(kind);
    const [id] = await submit(kind);
    const [claimed] = await waiting;
    assert.equal(claimed?.id, id);
  });

  test('that wait at the same time share new tasks, each once', async () => {
    const kind = newKind();
    const waiting = Array.from({ length: 20 }, () => client.work.claim({ kinds: [kind], wait_secs: 60 }));
    const ids = await submit(kind, 20);
    const claimed = (await Promise.all(waiting)).flat().map(({ id }) => id);
    assert.deepEqual(claimed.sort(), ids.sort());
  });

  test('return empty when the wait times out', async () => {
    assert.deepEqual(await client.work.claim({ kinds: [newKind()], wait_secs: 0.2 }), []);
  });

  test('take nothing for a caller that disconnected', async () => {
    const kind = newKind();
    const hangUp = new AbortController();
    const waiting = client.work.claim({ kinds: [kind], wait_secs: 60 }, hangUp.signal);
    await waitsOn(kind);
    hangUp.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    const [id] = await submit(kind);
    const claimed = await eventually(async () => {
      const [next] = await client.work.claim({ kinds: [kind], wait_secs: 1 });
      return next;
    }, 'the task is there for the next');
    assert.equal(claimed.id, id);
  });

  test('with faults are rejected, each named', async () => {
    const response = await server.app.inject({
      method: 'POST',
      url: '/v1/work/claim',
      payload: { kinds: [], max: 0, lease_secs: 1, wait_secs: 61, hodler: 'x' },
    });
    const { details } = response.json<{ details: string[] }>();
    assert.equal(response.statusCode, 400);
    for (const name of ['kinds', 'max', 'lease_secs', 'wait_secs', 'hodler']) {
      assert.ok(
        details.some((detail) => detail.startsWith(`${name}:`)),
        `${name} is not among ${details.join('; ')}`,
      );
    }
  });
});

describe('work on a task', () => {
  test('sends heartbeats with counts, and ends once however often it is reported', async () => {
    const kind = newKind();
    await submit(kind, 1, { expected_count: 3 });
    const [work] = await client.work.claim({ kinds: [kind] });
    await client.work.heartbeat(work!);
    await client.work.heartbeat(work!, { new_success: 2, new_failures: 1 });
    const { success, failures } = await client.getTask(work!.id);
    assert.deepEqual([success, failures], [2, 1]);
    const done = await client.work.complete(work!, { result: { words: 3 } });
    assert.deepEqual(done, { id: work!.id, result: 'applied', state: 'Succeeded' });
    assert.equal((await client.work.complete(work!, { result: { words: 3 } })).result, 'unchanged');
    assert.deepEqual(await refusal(client.work.fail(work!, 'no')), [409, 'CONFLICT']);
    assert.deepEqual(await refusal(client.work.heartbeat(work!)), [409, 'CONFLICT']);
  });

  test('that failed is retried by its policy, and a repeated report costs no attempt', async () => {
    const kind = newKind();
    await submit(kind, 1, { retry: { max_attempts: 2, backoff_secs: 0 } });
    const [first] = await client.work.claim({ kinds: [kind] });
    assert.deepEqual(await client.work.fail(first!, 'once'), { id: first!.id, result: 'retrying', state: 'Pending' });
    assert.deepEqual(await client.work.fail(first!, 'once'), { id: first!.id, result: 'unchanged', state: 'Pending' });
    await engine.sweep();
    const [second] = await client.work.claim({ kinds: [kind], wait_secs: 10 });
    assert.deepEqual([second!.id, second!.attempt], [first!.id, 2]);
    assert.deepEqual(await refusal(client.work.fail(first!, 'once')), [409, 'STALE_ATTEMPT']);
    assert.equal((await client.work.fail(second!, 'twice')).state, 'Failed');
    assert.equal((await client.getTask(first!.id)).failure_reason, 'twice');
  });

  test('whose lease expired is requeued: the first worker must stop', async () => {
    const kind = newKind();
    const [id] = await submit(kind);
    const [lost] = await client.work.claim({ kinds: [kind], lease_secs: 5 });
    await database.query(AGE, [[id]]);
    assert.equal((await engine.sweep()).requeued, 1);
    assert.deepEqual(await refusal(client.work.heartbeat(lost!)), [409, 'STALE_ATTEMPT']);
    assert.deepEqual(await refusal(client.work.complete(lost!)), [409, 'STALE_ATTEMPT']);
    const [next] = await client.work.claim({ kinds: [kind] });
    assert.equal(next!.attempt, 2);
    assert.deepEqual(await refusal(client.work.complete(lost!)), [409, 'STALE_ATTEMPT']);
    assert.equal((await client.work.complete(next!)).state, 'Succeeded');
  });

  test('that was canceled is rejected; so is an unknown task', async () => {
    const kind = newKind();
    await submit(kind);
    const [work] = await client.work.claim({ kinds: [kind] });
    await client.cancelTask(work!.id);
    assert.deepEqual(await refusal(client.work.heartbeat(work!)), [409, 'CONFLICT']);
    assert.deepEqual(await refusal(client.work.complete(work!)), [409, 'CONFLICT']);
    const unknown = { id: newId(), attempt: 1 };
    for (const verb of ['heartbeat', 'complete', 'release'] as const) {
      assert.deepEqual(await refusal(client.work[verb](unknown)), [404, 'NOT_FOUND']);
    }
  });

  test('that is released is ready for other workers at once', async () => {
    const kind = newKind();
    await submit(kind);
    const [work] = await client.work.claim({ kinds: [kind] });
    assert.equal((await client.work.release(work!)).state, 'Pending');
    assert.equal((await client.work.release(work!)).result, 'unchanged');
    const [again] = await client.work.claim({ kinds: [kind] });
    assert.deepEqual([again!.id, again!.attempt], [work!.id, 2]);
  });
});

describe('workflows by workers of any language', () => {
  test('a generator adds nodes once, and an aggregator reads their results', async () => {
    const [generate, square, sum] = [newKind(), newKind(), newKind()];
    await submitWorkflow('sequential', [
      {
        mode: 'parallel',
        children: [
          { kind: generate, generator: true },
          { id: 'squares', mode: 'parallel', children: [] },
        ],
      },
      { kind: sum, policy: 'ContinueOnFailure' },
    ]);
    const [generator] = await client.work.claim({ kinds: [generate], wait_secs: 10 });
    const nodes = [1, 2, 3].map((n) => ({ id: newId(), kind: square, input: { n } }));
    const created = await client.work.createChildren(generator!, { nodes, parent_id: 'squares' });
    assert.deepEqual(
      created.map(({ id, result }) => [id, result]),
      nodes.map(({ id }) => [id, 'created']),
    );
    const again = await client.work.createChildren(generator!, { nodes: nodes.slice(0, 1), parent_id: 'squares' });
    assert.equal(again[0]!.result, 'exists');
    const [lostChild] = await client.work.createChildren(generator!, {
      nodes: [{ kind: square }],
      parent_id: 'nowhere',
    });
    assert.equal(lostChild!.result, 'rejected');
    assert.match(lostChild!.reason!, /nowhere/);
    const extra = { id: newId(), kind: square, input: { n: 0 } };
    const announced = await client.work.complete(generator!, { expected_task_count: 4 });
    assert.deepEqual([announced.result, announced.state], ['applied', 'PendingTaskCreation']);
    await assert.rejects(
      client.work.fail(generator!, 'too late'),
      /The task is PendingTaskCreation: it cannot be failed/,
    );
    await client.work.createChildren(generator!, { nodes: [extra], parent_id: 'squares' });
    assert.equal((await client.work.complete(generator!, { expected_task_count: 4 })).result, 'unchanged');

    const squares = await client.work.claim({ kinds: [square], max: 10, wait_secs: 10 });
    assert.equal(squares.length, 4);
    assert.ok(squares.every(({ parent_id }) => parent_id !== null));
    for (const work of squares) {
      await client.work.complete(work, { result: (work.input['n'] as number) ** 2 });
    }
    await engine.completeGenerators(100);
    const [aggregator] = await client.work.claim({ kinds: [sum], wait_secs: 10 });
    const results: unknown[] = [];
    for await (const { data } of client.work.results(aggregator!.id, 2)) results.push(data);
    assert.deepEqual(results.sort(), [0, 1, 4, 9]);
    assert.equal((await client.work.complete(aggregator!, { result: 14 })).state, 'Succeeded');
    const [late] = await client.work.createChildren(generator!, { nodes: [{ kind: square }] });
    assert.equal(late!.result, 'rejected');
  });

  test('faults of nodes are reported with their position', async () => {
    const kind = newKind();
    await submitWorkflow('parallel', [{ kind, generator: true }]);
    const [generator] = await client.work.claim({ kinds: [kind], wait_secs: 10 });
    const bad = [{ kind: 'x' }, { mode: 'parallel', children: [{ knid: 'y' }] }];
    const response = await server.app.inject({
      method: 'POST',
      url: `/v1/work/${generator!.id}/children`,
      payload: { attempt: 1, nodes: bad },
    });
    assert.equal(response.statusCode, 400);
    assert.match(response.json<{ details: string[] }>().details[0]!, /^nodes\[1\]\.children\[0\]: .*"kind"/);
    const stale = client.work.createChildren({ id: generator!.id, attempt: 7 }, { nodes: [{ kind: 'x' }] });
    assert.deepEqual(await refusal(stale), [409, 'STALE_ATTEMPT']);
  });
});

test('a stopping server releases waiting callers', async () => {
  const other = await createTestServer({ engine });
  const url = await other.app.listen({ host: '127.0.0.1', port: 0 });
  const kind = newKind();
  const waiting = new HeddleClient({ baseUrl: url }).work.claim({ kinds: [kind], wait_secs: 60 });
  await waitsOn(kind);
  await other.app.close();
  assert.deepEqual(await waiting, []);
});

describe('the log of a claimed task', () => {
  test('is sent by its worker, once however often a request is repeated, and read by anyone', async () => {
    const kind = newKind();
    const [id] = await submit(kind);
    const [work] = await client.work.claim({ kinds: [kind] });
    const lines = [{ text: 'first' }, { text: 'second', stream: 'stderr' as const }];
    for (let repeat = 0; repeat < 2; repeat += 1) await client.work.log(work!, { first_line: 0, lines });
    await client.work.log(work!, { first_line: 2, lines: [{ text: 'third', level: 'warn' }] });
    const page = await client.taskLogs(id!);
    assert.deepEqual(
      page.lines.map(({ number, stream, level, text }) => [number, stream, level, text]),
      [
        [0, 'log', 'info', 'first'],
        [1, 'stderr', null, 'second'],
        [2, 'log', 'warn', 'third'],
      ],
    );
    assert.deepEqual([page.attempt, page.next], [1, 3]);
    const { lines: last } = await client.taskLogs(id!, { tail: 1 });
    assert.deepEqual(last, page.lines.slice(2));
    const { lines: rest } = await client.taskLogs(id!, { attempt: 1, from: 1, limit: 1 });
    assert.deepEqual(rest, page.lines.slice(1, 2));
  });

  test('is followed from attempt to attempt, until the task has ended', async () => {
    const kind = newKind();
    const [id] = await submit(kind);
    const [first] = await client.work.claim({ kinds: [kind] });
    await client.work.log(first!, { first_line: 0, lines: [{ text: 'of the first' }] });
    const seen: string[] = [];
    const following = (async () => {
      for await (const { attempt, lines } of client.followTaskLogs(id!)) {
        seen.push(...lines.map(({ text }) => `${attempt}: ${text}`));
      }
    })();
    await eventually(() => seen.length === 1, 'the first line');
    await client.work.log(first!, { first_line: 1, lines: [{ text: 'more' }] });
    await client.work.release(first!);
    const [second] = await client.work.claim({ kinds: [kind] });
    await client.work.log(second!, { first_line: 0, lines: [{ text: 'of the second' }] });
    await client.work.complete(second!);
    await following;
    assert.deepEqual(seen, ['1: of the first', '1: more', '2: of the second']);
  });

  test('takes lines only from the worker that holds it, and only lines', async () => {
    const kind = newKind();
    await submit(kind);
    const [work] = await client.work.claim({ kinds: [kind], holder: 'me' });
    const isRefused = (code: string) => (error: unknown) => error instanceof HeddleApiError && error.code === code;
    const log = (task: typeof work, text: string): Promise<void> =>
      client.work.log(task!, { first_line: 0, lines: [{ text }] });
    await assert.rejects(log({ ...work!, holder: 'you' }, 'x'), isRefused('HELD_BY_ANOTHER'));
    await assert.rejects(log({ ...work!, attempt: 2 }, 'x'), isRefused('STALE_ATTEMPT'));
    await assert.rejects(log({ ...work!, id: newId() }, 'x'), isRefused('NOT_FOUND'));
    await assert.rejects(log(work, 'two\nlines'), isRefused('VALIDATION_FAILED'));
    await assert.rejects(log(work, 'x'.repeat(8_193)), isRefused('VALIDATION_FAILED'));
    await assert.rejects(client.taskLogs(newId()), isRefused('NOT_FOUND'));
    assert.deepEqual(await client.taskLogs(work!.id), { attempt: null, lines: [], next: 0 });
  });
});
