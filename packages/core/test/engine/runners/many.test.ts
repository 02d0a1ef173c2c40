import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Database, Statement } from '../../../src/store/database.ts';
import { submitTasks } from '@heddle/test-support/engine/fixture';
import {
  endRunner,
  grant,
  claimAt,
  needy,
  newRunnerBench,
  pass,
  type RunnerBench,
} from '@heddle/test-support/engine/runners/fixture';

const TASKS = 10_000;
/** As many as step 7 requires. */
const SET = 500;

/** A database that counts the executions of each statement. */
function counted(database: Database, counts: Map<string, number>): Database {
  return {
    query: (statement, values) => {
      counts.set(statement.name, (counts.get(statement.name) ?? 0) + 1);
      return database.query(statement, values);
    },
    transaction: (run, options) => database.transaction(run, options),
    listen: (channel, onPayload) => database.listen(channel, onPayload),
    stats: () => database.stats(),
    ping: () => database.ping(),
    close: () => database.close(),
  };
}

const READ: Statement = {
  name: 'test.read',
  text: `select coalesce(sum(seq_tup_read), 0)::bigint as whole, coalesce(sum(idx_tup_fetch), 0)::bigint as indexed from pg_stat_xact_user_tables
    where relname in ('ready', 'runner_request', 'task', 'task_spec', 'workflow')`,
};

/** Rows read by a demand query: by sequential scans and by indexes. */
function readBy({ engine }: RunnerBench): Promise<{ whole: number; indexed: number }> {
  return engine.transaction(async (inner, tx) => {
    const count = async () => (await tx.query<{ whole: number; indexed: number }>(READ))[0]!;
    const before = await count();
    await inner.askForRunners({ ask: () => Promise.resolve() }, SET);
    const { whole, indexed } = await count();
    return { whole: whole - before.whole, indexed: indexed - before.indexed };
  });
}

test('ten thousand tasks request runners in sets, each once; the next pass reads none of them', async () => {
  const counts = new Map<string, number>();
  const bench = await newRunnerBench((database) => counted(database, counts));
  const { tasks } = await submitTasks(
    bench.engine,
    Array.from({ length: TASKS }, () => needy()),
  );
  counts.clear();
  await pass(bench);
  // One run stops at its limit of twenty sets, and the next one continues.
  await pass(bench);
  assert.equal(bench.asked.length, TASKS);
  assert.equal(new Set(bench.asked.map(({ task_id }) => task_id)).size, TASKS);
  assert.equal(new Set(bench.asked.map(({ id }) => id)).size, TASKS);
  const statements = [...counts].filter(([name]) => name.startsWith('runner_tasks.'));
  for (const [name, count] of statements) assert.ok(count <= TASKS / SET + 2, `${name} ran ${count} times`);

  counts.clear();
  await pass(bench);
  assert.equal(bench.asked.length, TASKS);
  assert.equal(counts.get('runner_tasks.demand'), 1);
  const { whole, indexed } = await readBy(bench);
  assert.equal(whole, 0);
  assert.ok(indexed < 100, `it read ${indexed} rows`);

  // Tasks that lost their runners at the same time are requeued in one set.
  const lost = tasks.slice(0, 20);
  for (const { id } of lost) {
    const [runner] = await grant(bench, id);
    await claimAt(bench.engine, runner!);
    await endRunner(bench, runner!, 'lost');
  }
  counts.clear();
  await pass(bench);
  assert.equal(counts.get('tasks.release'), 1);
  assert.deepEqual(new Set(bench.asked.slice(TASKS).map(({ task_id }) => task_id)), new Set(lost.map(({ id }) => id)));
  await bench.engine.close();
});
