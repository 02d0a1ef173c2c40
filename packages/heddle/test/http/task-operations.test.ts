/** Retry with another input, retry from here, and operations on many tasks, against the real engine. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';

import { HeddleApiError, HeddleClient } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { createEngine } from '@heddle/core/engine/engine';
import { createKindDirectory } from '@heddle/core/engine/kinds/directory';
import type { Engine, Report } from '@heddle/core/engine/port';
import type { Database } from '@heddle/core/store/database';
import { parseNode } from '@heddle/core/domain/parse/workflow';
import { defineKind } from '@heddle/kit';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { ServerKinds } from '../../src/app/server-kinds.ts';
import type { NewTaskDto } from '../../src/http/wire/new-task.ts';
import type { NewContainerDto } from '../../src/http/wire/new-workflow.ts';

let server: TestServer;
let engine: Engine;
let client: HeddleClient;
let database: Database;
const recorded: { action: string; object: string | null }[] = [];

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger, archiveAfterMs: 0 });
  const kinds = new ServerKinds(createKindDirectory({ database }));
  await kinds.add([defineKind({ name: 'checked', input: z.object({ width: z.number().min(1) }), run: () => null })]);
  const audit = {
    entryOf: JSON.stringify,
    record: (entry: { action: string; object: string | null }) => {
      recorded.push(entry);
      return Promise.resolve();
    },
    list: () => Promise.resolve([]),
  };
  server = await createTestServer({ engine, database, kinds, audit });
  client = new HeddleClient({ baseUrl: await server.app.listen({ port: 0, host: '127.0.0.1' }) });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

let count = 0;
/** A separate kind, so that tests do not claim each other's tasks. */
function newKind(): string {
  count += 1;
  return `operations-${count}`;
}

async function claim(kind: string): Promise<Awaited<ReturnType<Engine['claim']>>> {
  return engine.claim({ lanes: [`kind:${kind}`], limit: 100, holder: 'test' });
}

/** Runs what is ready; returns the names. */
async function run(kind: string, report: Partial<Report> = {}): Promise<string[]> {
  const claimed = await claim(kind);
  await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'succeeded', ...report })));
  return claimed.map(({ name }) => name).sort();
}

async function submit(tasks: NewTaskDto[]): Promise<Record<string, string>> {
  const { tasks: created } = await client.submit(tasks);
  return Object.fromEntries(created.map(({ local_id, id }) => [local_id!, id]));
}

async function statesOf(ids: Record<string, string>): Promise<string> {
  const states = await Promise.all(Object.values(ids).map(async (id) => (await client.getTask(id)).status));
  return states.join(' ');
}

function refused(status: number, what: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof HeddleApiError);
    assert.equal(error.status, status, error.message);
    assert.match(error.message, what);
    return true;
  };
}

describe('retry with another input', () => {
  test('runs the next attempt with it, and counts its rules again', async () => {
    const kind = newKind();
    const rules: NewTaskDto['rules'] = [
      { type: 'Concurrency', matcher: { kind, status: 'Running', fields: ['shop'] }, max_concurrency: 1 },
    ];
    const ids = await submit([
      { id: 'a', name: 'a', kind, rules, metadata: { shop: 1 } },
      { id: 'b', name: 'b', kind, rules, metadata: { shop: 2 } },
    ]);
    const [a, b] = await claim(kind);
    await engine.report([{ task_id: a!.id, attempt: 1, outcome: 'failed' }]);
    // The other one holds the slot of the second shop.
    const retried = await client.retryTask(ids['a']!, { input: { shop: 2, extra: null } });
    assert.deepEqual([retried.status, retried.metadata], ['Pending', { shop: 2, extra: null }]);
    assert.deepEqual(await claim(kind), []);
    await engine.report([{ task_id: b!.id, attempt: 1, outcome: 'succeeded' }]);
    const [again] = await claim(kind);
    assert.deepEqual([again!.id, again!.attempt, again!.metadata], [a!.id, 2, { shop: 2, extra: null }]);
  });

  test('is checked against the schema of the kind', async () => {
    const { one } = await submit([{ id: 'one', name: 'one', kind: 'checked', metadata: { width: 1 } }]);
    await run('checked', { outcome: 'failed' });
    await assert.rejects(client.retryTask(one!, { input: { width: 0 } }), refused(400, /input\.width: Too small/));
    assert.equal((await client.getTask(one!)).status, 'Failure');
    assert.deepEqual((await client.retryTask(one!, { input: { width: 3 } })).metadata, { width: 3 });
  });

  test('may hold expressions in a workflow, which are checked and evaluated', async () => {
    const kind = newKind();
    const children = [
      { id: 'first', kind, name: 'first' },
      { id: 'second', kind, name: 'second', input: { plain: 1 } },
      { id: 'third', kind, name: 'third' },
    ];
    const { id } = await client.submitWorkflow({ root: { mode: 'sequential', children } });
    await run(kind, { result: { rows: 12 } });
    await run(kind, { outcome: 'failed' });
    const second = (await engine.getTree(id))!.tree.tasks.find(({ local_id }) => local_id === 'second')!;
    const retry = (expression: string) => client.retryTask(second.id, { input: { rows: { $expr: expression } } });
    await assert.rejects(retry('nodes.third.result'), refused(400, /input\.rows.*does not precede this task/));
    await assert.rejects(retry('nodes.nobody.result'), refused(400, /exactly one node "nobody"/));
    await assert.rejects(retry('1 +'), refused(400, /input\.rows/));
    await retry('nodes.first.result.rows');
    const [again] = await claim(kind);
    assert.deepEqual([again!.id, again!.metadata], [second.id, { rows: 12 }]);
  });

  test('of a task that has not started, or succeeded, is refused with the remedy', async () => {
    const kind = newKind();
    const { one } = await submit([{ id: 'one', name: 'one', kind }]);
    await assert.rejects(client.retryTask(one!, { input: { a: 1 } }), refused(409, /has not started yet/));
    assert.deepEqual((await client.getTask(one!)).metadata, {});
    await run(kind);
    await assert.rejects(client.retryTask(one!, { input: { a: 1 } }), refused(409, /cannot be retried/));
  });

  test('of a command requires the scope command', async () => {
    const { one } = await submit([{ id: 'one', name: 'one', kind: 'Command', metadata: { run: 'false' } }]);
    await run('Command', { outcome: 'failed' });
    const guarded = await createTestServer({ engine, config: { authRequired: true } });
    guarded.tokens.add('operator', ['operate']);
    guarded.tokens.add('commander', ['operate', 'command']);
    const statusWith = async (token: string, payload: object): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const url = `/v1/tasks/${one!}/retry`;
      return (await guarded.app.inject({ method: 'POST', url, headers, payload })).statusCode;
    };
    assert.equal(await statusWith('operator', { input: { run: 'true' } }), 403);
    assert.equal(await statusWith('commander', { input: { run: 'true' } }), 200);
    await guarded.app.close();
  });
});

describe('retry from here', () => {
  test('in a batch runs the task and all that depends on it again, also what succeeded', async () => {
    const kind = newKind();
    const ids = await submit([
      { id: 'other', name: 'other', kind },
      { id: 'first', name: 'first', kind },
      { id: 'second', name: 'second', kind, dependencies: [{ id: 'first' }, { id: 'other' }] },
      { id: 'third', name: 'third', kind, dependencies: [{ id: 'second', requires_success: false }] },
    ]);
    for (let level = 0; level < 3; level += 1) await run(kind, { result: { at: level }, new_success: 1 });
    assert.equal(await statesOf(ids), 'Success Success Success Success');
    const retried = await client.retryTask(ids['first']!, { after: true });
    assert.deepEqual([retried.status, retried.success], ['Pending', 0]);
    assert.equal(await statesOf(ids), 'Success Pending Waiting Waiting');
    assert.equal(await client.taskResult(ids['third']!), null);
    assert.deepEqual((await client.taskResult(ids['other']!))!.data, { at: 0 });
    assert.deepEqual([await run(kind), await run(kind), await run(kind)], [['first'], ['second'], ['third']]);
    assert.equal((await client.taskAttempts(ids['third']!)).length, 2);
  });

  test('in a batch is refused while something after it runs', async () => {
    const kind = newKind();
    const ids = await submit([
      { id: 'first', name: 'first', kind },
      { id: 'second', name: 'second', kind, dependencies: [{ id: 'first' }] },
    ]);
    await run(kind);
    await claim(kind);
    await assert.rejects(
      client.retryTask(ids['first']!, { after: true }),
      refused(409, /"second" .* comes after it and is running; wait for its end, or cancel it/),
    );
    assert.equal(await statesOf(ids), 'Success Running');
  });

  test('in a workflow runs what follows in the sequences around it again, also from the archive', async () => {
    const kind = newKind();
    const task = (id: string) => ({ id, name: id, kind });
    const middle: NewContainerDto = { mode: 'parallel', children: [task('left'), task('right')] };
    const root: NewContainerDto = { mode: 'sequential', children: [task('first'), middle, task('last')] };
    const { id } = await client.submitWorkflow({ root });
    for (let step = 0; step < 3; step += 1) await run(kind);
    await database.query({ name: 'test_finalized', text: 'delete from finalization' });
    await engine.retain(100);
    assert.equal((await client.getWorkflow(id)).archived, true);
    const left = (await engine.getTree(id))!.tree.tasks.find(({ local_id }) => local_id === 'left')!;
    await client.retryTask(left.id, { after: true, input: { again: true } });
    const states = (await engine.getTree(id))!.tree.tasks.map(({ name, state }) => `${name} ${state}`).sort();
    assert.deepEqual(states, ['first succeeded', 'last waiting', 'left pending', 'right succeeded']);
    assert.deepEqual([await run(kind), await run(kind)], [['left'], ['last']]);
    assert.equal((await client.getWorkflow(id)).state, 'Succeeded');
  });

  test('in a workflow is refused where a generator would create its nodes again, and while it runs', async () => {
    const kind = newKind();
    const root: NewContainerDto = {
      mode: 'sequential',
      children: [
        { id: 'first', kind, name: 'first' },
        {
          mode: 'parallel',
          children: [
            { id: 'make', kind, name: 'make', generator: true },
            { id: 'made', mode: 'parallel', children: [] },
          ],
        },
      ],
    };
    const { id } = await client.submitWorkflow({ root });
    await run(kind);
    const first = (await engine.getTree(id))!.tree.tasks.find(({ local_id }) => local_id === 'first')!;
    await assert.rejects(client.retryTask(first.id, { after: true }), refused(409, /once all of it has ended/));
    const [generator] = await claim(kind);
    const node = parseNode({ kind, name: 'part' }, newId);
    assert.ok(node.ok);
    await engine.createNodes([{ generator_id: generator!.id, attempt: 1, node: node.node, parent: 'made' }]);
    await engine.report([{ task_id: generator!.id, attempt: 1, outcome: 'succeeded', expected_created: 1 }]);
    assert.deepEqual(await run(kind), ['part']);
    await assert.rejects(
      client.retryTask(first.id, { after: true }),
      refused(409, /the generator "make" .* would create its nodes again; run the whole workflow again/),
    );
  });
});

describe('operations on many tasks', () => {
  test('change those that can change, and say why the others cannot', async () => {
    const kind = newKind();
    const ids = await submit(['a', 'b', 'c'].map((id) => ({ id, name: id, kind })));
    const [a, b, c] = Object.values(ids);
    await engine.cancel([c!]);
    const nobody = newId();
    const paused = await client.operations.changeTasks('pause', [a!, b!, c!, nobody, a!.toUpperCase()]);
    assert.deepEqual(paused.changed, [a, b]);
    assert.deepEqual(paused.unchanged, [
      { id: c, reason: 'The task is Canceled: it cannot be paused' },
      { id: nobody, reason: `No such task: ${nobody}` },
    ]);
    assert.deepEqual((await client.operations.changeTasks('pause', [a!])).unchanged, [
      { id: a, reason: 'The task is Paused: it cannot be paused' },
    ]);
    assert.deepEqual((await client.operations.changeTasks('resume', [a!, b!])).changed, [a, b]);
    assert.deepEqual((await client.operations.changeTasks('cancel', [a!, c!])).changed, [a]);
    assert.deepEqual((await client.operations.changeTasks('retry', [a!, c!])).changed, [a, c]);
    assert.equal(await statesOf(ids), 'Pending Pending Pending');
  });

  test('are one entry of the audit log with their number and the first ids', async () => {
    const kind = newKind();
    const ids = Object.values(await submit(Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, name: 'n', kind }))));
    recorded.length = 0;
    await client.operations.changeTasks('cancel', ids);
    assert.equal(recorded.length, 1);
    const { action, object } = recorded[0]!;
    assert.equal(action, 'POST /v1/tasks/bulk');
    assert.match(object!, new RegExp(`^cancel: 30 of 30 tasks ${ids[0]} .* and 20 more$`));
    assert.ok(object!.length < 500);
  });

  test('take at most 1,000 tasks', async () => {
    const ids = Array.from({ length: 1001 }, newId);
    await assert.rejects(
      client.operations.changeTasks('cancel', ids),
      refused(400, /ids: must have at most 1000 elements/),
    );
    await assert.rejects(
      client.operations.changeTasks('cancel', []),
      refused(400, /ids: must have at least 1 element/),
    );
    await assert.rejects(
      client.operations.changeTasks('stop' as 'cancel', ids.slice(0, 1)),
      refused(400, /operation: must be/),
    );
  });
});
