import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createRuns } from '../../src/engine/runs/runs.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { Database } from '../../src/store/database.ts';
import { claimKind, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, seq, submitTree } from '@heddle/test-support/engine/flow/tree';

/** As rows were before runs were counted. */
async function forgetCounts(database: Database): Promise<void> {
  for (const table of ['workflow', 'archive_workflow']) {
    await database.query({
      name: `test.forget_${table}`,
      text: `update ${table} set succeeded = null, failed = null, canceled = null, skipped = null, failing = false,
        failed_task = null, outcome = null, kinds = null`,
    });
  }
}

async function someRuns({ engine, database }: Bench): Promise<void> {
  const batch = await submitTasks(engine, [newTask(), newTask({ kind: 'other' }), newTask()]);
  const [first] = await claimKind(engine, 'work', 1);
  await engine.report([{ task_id: first!.id, attempt: 1, outcome: 'failed', reason: 'no paper' }]);
  const canceled = await submitTasks(engine, [newTask({ kind: 'stop' })]);
  await engine.cancelWorkflow(canceled.workflow_id);
  await submitTree(engine, seq({ kind: 't1' }, { kind: 't2', disabled: true }, par({ kind: 't3' })));
  await finishNext(engine, 't1');
  await submitTree(engine, seq({ kind: 'done' }));
  await finishNext(engine, 'done');
  await database.query({ name: 'test.finalized', text: 'delete from finalization' });
  await database.query({
    name: 'test.age',
    text: `update workflow set ended_at = now() - interval '2 hours' where ended_at is not null`,
  });
  await engine.retain(1_000);
  assert.equal((await createRuns(database).get(batch.workflow_id))!.counts.failed, 1);
}

test('migrating counts the tasks of runs from before, archived and open ones', async () => {
  const bench = await newBench();
  const { engine, database, url } = bench;
  await someRuns(bench);
  const runs = createRuns(database);
  const page = { after: null, limit: 50 };
  const before = await runs.list({}, page);
  assert.deepEqual(
    before.runs.map(({ state, archived }) => [state, archived]),
    [
      ['succeeded', true],
      ['running', false],
      ['canceled', true],
      ['running', false],
    ],
  );

  await forgetCounts(database);
  // What ends before they are counted is counted with the others.
  const [open] = await claimKind(engine, 'other', 1);
  await engine.report([{ task_id: open!.id, attempt: 1, outcome: 'succeeded' }]);
  await migrate({ url });

  const after = await runs.list({}, page);
  const sorted = (kinds: readonly string[]): string[] => [...kinds].sort();
  for (const [index, run] of after.runs.entries()) {
    const was = before.runs[index]!;
    const counts = was.kinds.includes('other')
      ? { ...was.counts, remaining: was.counts.remaining - 1, succeeded: was.counts.succeeded + 1 }
      : was.counts;
    assert.deepEqual(
      { ...run, kinds: sorted(run.kinds), title: '' },
      { ...was, counts, kinds: sorted(was.kinds), title: '' },
    );
  }
  assert.equal((await runs.list({ state: 'failing' }, page)).runs.length, 1);
  assert.equal((await migrate({ url })).functionsReplaced, false);
});
