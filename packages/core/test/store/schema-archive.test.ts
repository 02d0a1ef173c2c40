import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { migrate } from '../../src/store/migrate.ts';
import { claimKind, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import { par, seq, submitTree } from '@heddle/test-support/engine/flow/tree';

const HOUR_MS = 3_600_000;
const TABLES = ['workflow', 'task', 'task_spec', 'task_data', 'edge', 'container', 'generator', 'container_generator'];

type BenchInTime = Bench & { clock: VirtualClock };

async function benchInTime(): Promise<BenchInTime> {
  const clock = new VirtualClock();
  return { ...(await newBench({ clock })), clock };
}

let statements = 0;

function run({ database }: Bench, text: string): Promise<object[]> {
  statements += 1;
  return database.query({ name: `test ${statements}`, text });
}

/** Makes the views and functions again, as the next version of the program does. */
async function replaceFunctions(bench: Bench): Promise<void> {
  await run(bench, `update schema_functions set checksum = 'older'`);
  assert.equal((await migrate({ url: bench.url })).functionsReplaced, true);
}

/** A tree with a generator, and a batch with a dependency, a retry policy and a failure: rows in each of the tables. */
async function runToTheEnd({ engine }: Bench): Promise<string[]> {
  const retry = { max_attempts: 1, base_ms: 1, factor: 1, max_ms: 1, jitter: 0 };
  const child = newTask({ dependencies: [{ index: 0, requires_success: false }] });
  const batch = await submitTasks(engine, [newTask({ retry }), child]);
  const tree = await submitTree(engine, seq({ kind: 'split', generator: true }, par({ kind: 'work' })));
  const [generator] = await claimKind(engine, 'split');
  await engine.report([{ task_id: generator!.id, attempt: 1, outcome: 'succeeded', expected_created: 0 }]);
  for (;;) {
    const claimed = await claimKind(engine);
    if (claimed.length === 0) return [batch.workflow_id, tree];
    await engine.report(
      claimed.map(({ id, attempt }) => ({
        task_id: id,
        attempt,
        outcome: id === batch.tasks[0]!.id ? 'failed' : 'succeeded',
        result: { of: id },
      })),
    );
  }
}

function rowsOf(bench: Bench, table: string): Promise<object[]> {
  return run(bench, `select to_jsonb(t) as row from ${table} t order by to_jsonb(t)::text`);
}

/** Into the archive and back: every row is as it was. */
async function holdRoundTrip(bench: BenchInTime): Promise<void> {
  const { engine, clock } = bench;
  const workflows = await runToTheEnd(bench);
  // What the manager does at the end of a tree.
  await run(bench, 'delete from finalization');
  await run(bench, 'insert into container_generator select id, container_id, true from task where generates');
  const before = await Promise.all(TABLES.map((table) => rowsOf(bench, table)));
  for (const [index, rows] of before.entries()) assert.ok(rows.length > 0, `no row in ${TABLES[index]}`);
  await clock.advance(2 * HOUR_MS);
  assert.equal((await engine.retain(1_000)).archived, 4);
  for (const workflow of workflows) assert.equal((await engine.getWorkflow(workflow))?.archived, true);
  for (const workflow of workflows) await run(bench, `select unarchive_workflow('${workflow}')`);
  assert.deepEqual(await Promise.all(TABLES.map((table) => rowsOf(bench, table))), before);
}

describe('a column that is added later', () => {
  it('to a table, and not to its archive, disturbs neither the archive nor the views', async () => {
    const bench = await benchInTime();
    for (const table of TABLES) await run(bench, `alter table ${table} add column extra integer`);
    await holdRoundTrip(bench);
    await replaceFunctions(bench);
    for (const view of ['workflow_all', 'task_all', 'container_all']) assert.ok((await rowsOf(bench, view)).length > 0);
  });

  it('to a table and its archive goes there and comes back, in whatever order they stand', async () => {
    const bench = await benchInTime();
    for (const table of TABLES.slice(1)) {
      await run(bench, `alter table ${table} add column one integer default 1, add column two text default 'b'`);
      await run(bench, `alter table archive_${table} add column two text, add column one integer`);
    }
    await replaceFunctions(bench);
    await holdRoundTrip(bench);
    assert.deepEqual(
      (await run(bench, 'select distinct one, two from task_all')).map((row) => ({ ...row })),
      [{ one: 1, two: 'b' }],
    );
  });

  it('is never forgotten: every table has the columns of its archive', async () => {
    const bench = await benchInTime();
    const columns = (table: string): string =>
      `select column_name from information_schema.columns where table_schema = 'heddle' and table_name = '${table}'`;
    for (const table of TABLES) {
      assert.deepEqual(await run(bench, `${columns(table)} except ${columns(`archive_${table}`)}`), [], table);
    }
  });
});
