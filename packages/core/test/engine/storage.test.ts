import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Database, Statement } from '../../src/store/database.ts';
import { eventually } from '@heddle/test-support/eventually';
import { claimKind, drain, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

const FLUSH: Statement = { name: 'test.flush', text: `select pg_stat_force_next_flush()` };

const UPDATES: Statement = {
  name: 'test.updates',
  text: `select n_tup_upd as updates, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'task'`,
};

const UPDATES_OF_RUNS: Statement = {
  name: 'test.updates_of_runs',
  text: UPDATES.text.replace("'task'", "'workflow'"),
};

const SCANS: Statement = {
  name: 'test.scans',
  text: `select coalesce(sum(seq_tup_read), 0)::bigint as rows_read,
      (sum(n_tup_upd) filter (where relname = 'task'))::bigint as updates from pg_stat_user_tables
    where relname in ('task', 'edge', 'ready', 'delivery', 'lease')`,
};

// A table is analyzed under a snapshot, and no version that ends meanwhile can give its place to a next one.
const STOP_AUTOVACUUM: Statement = {
  name: 'test.stop_autovacuum',
  text: `do $$
    declare name text;
    begin
      for name in select tablename from pg_tables where schemaname = 'heddle' loop
        execute format('alter table heddle.%I set (autovacuum_enabled = false)', name);
      end loop;
    end $$`,
};

const ANALYZE: Statement = { name: 'test.analyze', text: `analyze heddle.task` };

async function statistic<Row>(database: Database, statement: Statement): Promise<Row> {
  // Statistics are sent when a connection goes idle; every connection of the pool is asked to send its own.
  await Promise.all(Array.from({ length: 10 }, () => database.query(FLUSH)));
  return (await database.query<Row>(statement))[0]!;
}

test('at least 95 % of the updates of tasks are heap-only', async () => {
  const { engine, database } = await newBench();
  await database.query(STOP_AUTOVACUUM);
  for (let n = 0; n < 10; n += 1) {
    await submitTasks(
      engine,
      Array.from({ length: 500 }, () => newTask({ metadata: { n } })),
    );
  }
  assert.equal(await drain(engine, 'work', 250), 5_000);
  const { updates, hot } = await eventually(async () => {
    const answer = await statistic<{ updates: number; hot: number }>(database, UPDATES);
    return answer.updates >= 10_000 && answer;
  }, 'the statistics of all connections have arrived');
  assert.ok(hot / updates >= 0.95, `${hot} of ${updates} updates were heap-only`);
});

test('the counts of a run are updated heap-only, whether its tasks succeed or fail', async () => {
  const { engine, database } = await newBench();
  await database.query(STOP_AUTOVACUUM);
  await submitTasks(
    engine,
    Array.from({ length: 2_000 }, () => newTask()),
  );
  for (let n = 0; n < 200; n += 1) {
    const claimed = await claimKind(engine, 'work', 10);
    await engine.report(
      claimed.map((task, index) => ({
        task_id: task.id,
        attempt: task.attempt,
        outcome: index % 5 === 0 ? ('failed' as const) : ('succeeded' as const),
      })),
    );
  }
  const { updates, hot } = await eventually(async () => {
    const answer = await statistic<{ updates: number; hot: number }>(database, UPDATES_OF_RUNS);
    return answer.updates >= 200 && answer;
  }, 'the statistics of all connections have arrived');
  // The first failure and the end change what lists filter by.
  assert.ok(hot >= updates - 5, `${hot} of ${updates} updates were heap-only`);
});

test('claims and reports read no table as a whole, also where the statistics know nothing of passing states', async () => {
  const { engine, database } = await newBench();
  await database.query(STOP_AUTOVACUUM);
  const tasks = Array.from({ length: 3_000 }, () => newTask());
  await submitTasks(engine, tasks);
  // As stale as they get: all is pending in the planner's eyes, forever.
  await database.query(ANALYZE);
  for (let n = 0; n < 5; n += 1) {
    await submitTasks(
      engine,
      Array.from({ length: 1_000 }, (_, index) =>
        newTask({ dependencies: index < 500 ? [] : [{ index: index - 500, requires_success: true }] }),
      ),
    );
  }
  await succeed(engine, await claimKind(engine, 'work', 10));
  const sets = 20;
  for (let n = 0; n < sets; n += 1) await succeed(engine, await claimKind(engine, 'work', 100));
  const { rows_read } = await eventually(async () => {
    const answer = await statistic<{ rows_read: number; updates: number }>(database, SCANS);
    return answer.updates >= sets * 200 && answer;
  }, 'the statistics of all connections have arrived');
  assert.equal(rows_read, 0, `${rows_read} rows were read by scans of whole tables in ${sets} sets`);
});

test('trees are listed by an index of their own, however many batches there are', async () => {
  const { database, engine } = await newBench();
  await database.query({
    name: 'test.many_batches',
    text: `insert into workflow (id, linked, task_count, remaining, is_tree, created_at)
      select gen_random_uuid(), false, 1, 1, n % 1000 = 0, now() from generate_series(1, 20000) n`,
  });
  await database.query({ name: 'test.analyze_workflows', text: 'analyze workflow' });
  const { workflows: listed } = await engine.listWorkflows({ trees: true, offset: 0, limit: 50 });
  assert.equal(listed.length, 20);
  await eventually(async () => {
    await database.query(FLUSH);
    const [row] = await database.query<{ read: number }>({
      name: 'test.index_reads',
      text: `select idx_tup_read as read from pg_stat_user_indexes where indexrelname = 'workflow_trees'`,
    });
    return row!.read >= 20;
  }, 'the list read the index of trees');
});
