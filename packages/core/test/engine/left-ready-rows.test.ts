/**
 * A task that was canceled while a claim held its ready row keeps that row for a moment. When the task is ready again, it has
 * one row, and is claimed once.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Statement } from '../../src/store/database.ts';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

const LEAVE: Statement = {
  name: 'test.leave',
  text: `insert into ready (lane, rank, task_id) select kind_id, -priority, id from task where id = any($1::uuid[])`,
};
const COUNT: Statement = {
  name: 'test.count',
  text: `select count(*) as n, count(distinct task_id) as tasks from ready`,
};

/** Few, each of which is looked for, and more than are looked for before one is met. */
for (const width of [3, 200]) {
  test(`${width} children become ready, two of which have left a row: all are claimed once`, async () => {
    const { engine, database } = await newBench();
    const kind = 'child';
    const onParent = [{ index: 0, requires_success: true }];
    const { tasks } = await submitTasks(engine, [
      newTask({ kind: 'parent' }),
      ...Array.from({ length: width }, () => newTask({ kind, dependencies: onParent })),
    ]);
    const children = tasks.slice(1).map(({ id }) => id);
    await database.query(LEAVE, [[children[0], children[width - 1]]]);

    await succeed(engine, await claimKind(engine, 'parent'));
    assert.deepEqual(await database.query(COUNT), [{ n: width, tasks: width }]);
    const claimed = (await claimKind(engine, kind, width + 2)).map(({ id }) => id);
    assert.deepEqual(claimed.toSorted(), children.toSorted());
    assert.deepEqual(await claimKind(engine, kind), []);
  });
}
