/** Operations on many runs, what comes after a task, and runs by why they fail, against the real engine. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { HeddleClient, type Explanation } from '@heddle/client';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { createEngine } from '@heddle/core/engine/engine';
import type { Engine, Report } from '@heddle/core/engine/port';
import { createRuns } from '@heddle/core/engine/runs/runs';
import type { Database } from '@heddle/core/store/database';
import { createTestServer, type TestServer } from '@heddle/test-support/http/server';
import { createTestDatabase } from '@heddle/test-support/postgres';
import type { NewTaskDto } from '../../src/http/wire/new-task.ts';

let server: TestServer;
let engine: Engine;
let client: HeddleClient;
let database: Database;
let url: string;

before(async () => {
  ({ database } = await createTestDatabase());
  engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger, archiveAfterMs: 0 });
  server = await createTestServer({ engine, database, runs: createRuns(database) });
  url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = new HeddleClient({ baseUrl: url });
});

after(async () => {
  await server.app.close();
  await engine.close();
});

let count = 0;
function newKind(): string {
  count += 1;
  return `runs-${count}`;
}

async function run(kind: string, report: Partial<Report> = {}): Promise<number> {
  const claimed = await engine.claim({ lanes: [`kind:${kind}`], limit: 5000, holder: 'test' });
  await engine.report(claimed.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'succeeded', ...report })));
  return claimed.length;
}

async function batch(tasks: NewTaskDto[]): Promise<{ id: string; tasks: Record<string, string> }> {
  const { tasks: created } = await client.submit(tasks);
  return { id: created[0]!.batch_id, tasks: Object.fromEntries(created.map((task) => [task.name, task.id])) };
}

async function dependentsOf(id: string): Promise<Explanation['dependents']> {
  return (await client.explainTask(id)).dependents;
}

async function stateOf(id: string): Promise<string> {
  return (await client.runs.get(id)).state;
}

describe('operations on many runs', () => {
  test('hold and release batches and workflows as a whole, and say which did not change and why', async () => {
    const kind = newKind();
    const one = await batch([
      { name: 'a', kind },
      { name: 'b', kind },
    ]);
    const tree = await client.submitWorkflow({ root: { mode: 'parallel', children: [{ kind }, { kind }] } });
    const done = await batch([{ name: 'done', kind: `${kind}-done` }]);
    await run(`${kind}-done`);
    const nobody = newId();
    const ids = [one.id, tree.id, done.id, nobody];
    assert.deepEqual(await client.operations.changeRuns('pause', ids), {
      changed: [one.id, tree.id],
      unchanged: [
        { id: done.id, reason: 'The run has ended' },
        { id: nobody, reason: 'No such run' },
      ],
    });
    assert.equal(await run(kind), 0);
    assert.deepEqual([await stateOf(one.id), await stateOf(tree.id)], ['Paused', 'Paused']);
    const again = await client.operations.changeRuns('pause', [one.id]);
    assert.deepEqual(again.unchanged[0]!.reason, 'All of its unfinished tasks are paused already');
    assert.deepEqual((await client.operations.changeRuns('resume', ids)).changed, [one.id, tree.id]);
    assert.equal(await run(kind), 4);
    assert.deepEqual([await stateOf(one.id), await stateOf(tree.id)], ['Succeeded', 'Succeeded']);
  });

  test('cancel and retry them; a workflow is retried once all of it has ended', async () => {
    const kind = newKind();
    const one = await batch([{ name: 'a', kind }]);
    const tree = await client.submitWorkflow({
      root: { mode: 'parallel', children: [{ kind }, { kind: `${kind}-open` }] },
    });
    await run(kind, { outcome: 'failed', reason: 'no paper' });
    const early = await client.operations.changeRuns('retry', [one.id, tree.id]);
    assert.deepEqual(early.changed, [one.id]);
    assert.match(early.unchanged[0]!.reason, /^1 tasks of the workflow have not ended; wait/);
    const canceled = await client.operations.changeRuns('cancel', [one.id, tree.id]);
    assert.deepEqual(canceled, { changed: [one.id, tree.id], unchanged: [] });
    assert.equal(await stateOf(one.id), 'Canceled');
    assert.deepEqual((await client.operations.changeRuns('retry', [one.id, tree.id])).changed, [one.id, tree.id]);
    assert.equal(await run(kind), 2);
    assert.equal(await run(`${kind}-open`), 1);
    assert.deepEqual([await stateOf(one.id), await stateOf(tree.id)], ['Succeeded', 'Succeeded']);
  });

  test('a batch that was canceled while it was paused is not paused when it is retried', async () => {
    const kind = newKind();
    const one = await batch([{ name: 'a', kind }]);
    for (const operation of ['pause', 'cancel', 'retry'] as const) {
      assert.deepEqual((await client.operations.changeRuns(operation, [one.id])).changed, [one.id], operation);
    }
    assert.equal(await stateOf(one.id), 'Waiting');
    assert.equal(await run(kind), 1);
  });

  test('archived runs are retried, too', async () => {
    const kind = newKind();
    const one = await batch([{ name: 'a', kind }]);
    await run(kind, { outcome: 'failed', reason: 'no paper' });
    await engine.retain(1000);
    assert.equal((await client.runs.get(one.id)).archived, true);
    assert.deepEqual((await client.operations.changeRuns('retry', [one.id])).changed, [one.id]);
    assert.equal(await run(kind), 1);
  });
});

describe('what comes after a task', () => {
  test('is what depends on it in a batch, the nearest first, and how much of it is held up', async () => {
    const kind = newKind();
    const { tasks } = await batch([
      { id: 'a', name: 'a', kind },
      { id: 'b', name: 'b', kind: 'later', dependencies: [{ id: 'a' }] },
      { id: 'c', name: 'c', kind: 'later', dependencies: [{ id: 'b' }] },
      { id: 'd', name: 'd', kind: 'later', dependencies: [{ id: 'b' }, { id: 'c' }] },
      { name: 'other', kind: 'later' },
    ]);
    const before = await dependentsOf(tasks['a']!);
    assert.deepEqual([before.total, before.held_up, before.total_capped], [3, 3, false]);
    assert.deepEqual(before.tasks[0], { id: tasks['b'], name: 'b', status: 'Waiting' });
    assert.deepEqual(before.tasks.map(({ name }) => name).sort(), ['b', 'c', 'd']);
    await run(kind, { outcome: 'failed', reason: 'no paper' });
    const held = await dependentsOf(tasks['a']!);
    assert.deepEqual([held.total, held.held_up, held.tasks[0]!.status], [3, 3, 'Failure']);
    assert.deepEqual(await dependentsOf(tasks['d']!), { total: 0, total_capped: false, held_up: 0, tasks: [] });
  });

  test('is what follows in the sequences around it in a workflow', async () => {
    const kind = newKind();
    const { id } = await client.submitWorkflow({
      root: {
        mode: 'sequential',
        children: [
          {
            mode: 'parallel',
            children: [
              { id: 'first', kind },
              { id: 'beside', kind },
            ],
          },
          { id: 'second', kind },
          { mode: 'parallel', children: [{ id: 'third', kind }] },
        ],
      },
    });
    const { tasks } = (await engine.getTree(id))!.tree;
    const idOf = (name: string): string => tasks.find(({ local_id }) => local_id === name)!.id;
    const after = await dependentsOf(idOf('first'));
    assert.equal(after.total, 2);
    assert.deepEqual(
      after.tasks.map((task) => task.id),
      [idOf('second'), idOf('third')],
    );
    assert.equal((await dependentsOf(idOf('third'))).total, 0);
  });

  test('is counted up to 1,000', async () => {
    const kind = newKind();
    const { tasks } = await batch([
      { id: 'a', name: 'a', kind },
      ...Array.from({ length: 1500 }, (_, n) => ({ name: `n${n}`, kind, dependencies: [{ id: 'a' }] })),
    ]);
    const { total, total_capped, tasks: first } = await dependentsOf(tasks['a']!);
    assert.deepEqual([total, total_capped, first.length], [1000, true, 20]);
  });
});

test('runs are found by a failure that their tasks have in common, until these are retried', async () => {
  const kind = newKind();
  const first = await batch([{ name: 'a', kind }]);
  await run(kind, { outcome: 'failed', reason: 'order 17: connect ECONNREFUSED 10.0.0.12:5432' });
  const second = await batch([
    { name: 'a', kind },
    { name: 'b', kind },
  ]);
  await run(kind, { outcome: 'failed', reason: 'order 4711: connect ECONNREFUSED 10.0.0.12:5433' });
  const other = await batch([{ name: 'a', kind }]);
  await run(kind, { outcome: 'failed', reason: 'no paper' });
  const [row] = await database.query<{ fingerprint: string }>(
    { name: 'test.fingerprint', text: `select to_hex(fingerprint) as fingerprint from failure where workflow_id = $1` },
    [first.id],
  );
  const fingerprint = row!.fingerprint.padStart(16, '0');
  const found = async (): Promise<string[]> => (await client.runs.list({ fingerprint })).runs.map(({ id }) => id);
  assert.deepEqual(await found(), [second.id, first.id]);
  assert.ok(!(await found()).includes(other.id));
  await client.operations.changeRuns('retry', [first.id]);
  assert.deepEqual(await found(), [second.id]);
  const page = await client.runs.list({ fingerprint, state: 'failing', page_size: 1 });
  assert.deepEqual([page.runs.length, page.next], [1, null]);
  const refused = await fetch(`${url}/v1/runs?fingerprint=nothing`);
  assert.match(await refused.text(), /fingerprint: must be .*16 hexadecimal digits/);
});

test('the schemas of submissions stand by themselves', async () => {
  const { batch: tasks, workflow, rule, action } = await client.kinds.schemas();
  assert.equal(tasks['type'], 'array');
  assert.deepEqual(Object.keys(workflow['properties'] as object).sort(), ['name', 'notify', 'root']);
  const text = JSON.stringify(workflow);
  assert.ok(text.includes('"#/$defs/WorkflowNode"') && !text.includes('"WorkflowNode#"'));
  assert.ok(Array.isArray(rule['anyOf']));
  assert.equal(action['type'], 'object');
});
