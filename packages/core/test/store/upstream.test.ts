/** What expressions read is bounded, for one of them and for one statement. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject, JsonValue } from '@heddle/base/json';
import { newId } from '@heddle/base/random';
import { putCollectionData } from '../../src/store/collection-data.ts';
import type { Database, Queryable } from '../../src/store/database.ts';
import { readForTemplates, type TemplateReads, type Upstream } from '../../src/store/upstream.ts';
import { newBench } from '@heddle/test-support/engine/fixture';
import { finishNext, seq, submitTree } from '@heddle/test-support/engine/flow/tree';

const MB = 1_000_000;

/** Passes statements on, and remembers how often it did. */
function counted(database: Queryable): Queryable & { count: number } {
  const counting: Queryable & { count: number } = {
    count: 0,
    query: (statement, values) => {
      counting.count += 1;
      return database.query(statement, values);
    },
  };
  return counting;
}

async function readAll(queryable: Queryable, asks: readonly TemplateReads[]): Promise<Upstream[]> {
  const reader = readForTemplates(queryable, asks);
  const answers: Upstream[] = [];
  for (const _ of asks) answers.push(await reader.next());
  return answers;
}

async function putValue(database: Database, workflow_id: string, name: string, data: JsonValue): Promise<void> {
  const entry = { workflow_id, name, task_id: newId(), attempt: 1, list: false, data };
  assert.ok(await putCollectionData(database, entry, null));
}

describe('what expressions read', { concurrency: false }, () => {
  it('comes in as many statements as its size asks for, in the order of the questions', async () => {
    const { database } = await newBench();
    const workflow_id = newId();
    const values = Array.from({ length: 40 }, (_, index) => ({ name: `v${index}`, text: `${index}:`.padEnd(MB, 'x') }));
    for (const { name, text } of values) await putValue(database, workflow_id, name, text);
    const asks = values.map(({ name }) => ({ workflow_id, names: [], data: [name, 'none'] }));
    const counting = counted(database);
    const answers = await readAll(counting, asks);
    assert.deepEqual(
      answers.map(({ data, excess }) => [Object.keys(data), (Object.values(data)[0] as string).slice(0, 3), excess]),
      values.map(({ name, text }) => [[name], text.slice(0, 3), null]),
    );
    assert.equal(counting.count, 2, '40 MB, of which a statement reads 32 MiB');
  });

  it('is counted and read once, however many ask for it', async () => {
    const { database } = await newBench();
    const workflow_id = newId();
    for (let index = 0; index < 7; index += 1) await putValue(database, workflow_id, `v${index}`, 'x'.repeat(MB));
    const data = Array.from({ length: 7 }, (_, index) => `v${index}`);
    const counting = counted(database);
    const answers = await readAll(
      counting,
      Array.from({ length: 100 }, () => ({ workflow_id, names: [], data })),
    );
    assert.equal(counting.count, 1);
    assert.ok(answers.every((answer) => Object.keys(answer.data).length === 7));
  });

  it('is described by sizes if it is too large for one, and the others are answered', async () => {
    const { database } = await newBench();
    const [large, small] = [newId(), newId()];
    for (let index = 0; index < 9; index += 1) await putValue(database, large, `v${index}`, 'x'.repeat(MB));
    await putValue(database, small, 'v0', 1);
    const all = Array.from({ length: 9 }, (_, index) => `v${index}`);
    const asks = [
      { workflow_id: small, names: [], data: ['v0'] },
      ...Array.from({ length: 50 }, () => ({ workflow_id: large, names: [], data: all })),
      { workflow_id: small, names: [], data: ['v0'] },
      { workflow_id: large, names: [], data: ['v0'] },
    ];
    const counting = counted(database);
    const answers = await readAll(counting, asks);
    assert.equal(counting.count, 1, 'what is too much is counted once');
    assert.deepEqual([answers[0]!.data, answers[51]!.data], [{ v0: 1 }, { v0: 1 }]);
    assert.equal((answers[52]!.data['v0'] as string).length, MB);
    const { data, excess } = answers[25]!;
    assert.deepEqual(data, {});
    assert.equal(Object.keys(excess!).length, 9);
    assert.equal(excess!['data.v3'], MB + 2);
  });

  it('is counted no further than that takes', async () => {
    const { database } = await newBench();
    const workflow_id = newId();
    for (let index = 0; index < 20; index += 1) await putValue(database, workflow_id, `v${index}`, 'x'.repeat(MB));
    const all = Array.from({ length: 20 }, (_, index) => `v${index}`);
    const [answer] = await readAll(database, [{ workflow_id, names: [], data: all }]);
    assert.equal(Object.keys(answer!.excess!).length, 9);
  });

  it('is of lists all parts, and of values the latest', async () => {
    const { database } = await newBench();
    const workflow_id = newId();
    const part = { workflow_id, name: 'list', attempt: 1, list: true };
    await putCollectionData(database, { ...part, task_id: newId(), data: [1, 2] }, '2026-01-01T00:00:00Z');
    await putCollectionData(database, { ...part, task_id: newId(), data: [3] }, '2026-01-01T00:00:01Z');
    // Only the latest counts: what it replaced may be as large as it likes.
    for (let index = 0; index < 9; index += 1) await putValue(database, workflow_id, 'value', 'x'.repeat(MB));
    await putValue(database, workflow_id, 'value', 'last');
    const [answer] = await readAll(database, [{ workflow_id, names: [], data: ['list', 'value'] }]);
    assert.deepEqual(answer!.data, { list: [1, 2, 3], value: 'last' });
  });

  it('is of nodes by local names and by ids, each in its own workflow', async () => {
    const { engine, database } = await newBench();
    const root: JsonObject = { id: 'all', ...seq({ id: 'scan', kind: 'scan' }, { id: 'next', kind: 'next' }) };
    const first = await submitTree(engine, root);
    const { id: scan } = await finishNext(engine, 'scan', { n: 1 });
    const second = await submitTree(engine, root);
    await finishNext(engine, 'scan', { n: 2 });
    const counting = counted(database);
    const answers = await readAll(counting, [
      { workflow_id: first, names: ['scan', 'all', 'none'], data: [] },
      { workflow_id: second, names: ['scan', scan], data: [] },
      { workflow_id: first, names: [scan.toUpperCase(), 'scan'], data: [] },
    ]);
    assert.equal(counting.count, 1);
    const { all, ...others } = answers[0]!.nodes;
    assert.deepEqual(others, { scan: { state: 'Succeeded', reason: null, result: { n: 1 } } });
    assert.ok(all !== undefined && 'counts' in all);
    assert.equal(all.counts['children'], 2);
    assert.deepEqual(answers[1]!.nodes, { scan: { state: 'Succeeded', reason: null, result: { n: 2 } } });
    assert.deepEqual(Object.keys(answers[2]!.nodes).sort(), [scan.toUpperCase(), 'scan'].sort());
  });
});
