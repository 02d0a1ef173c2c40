import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { NewTask } from '@heddle/base/vocabulary/task';
import { claimKind, newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import type { Database, Statement } from '../../src/store/database.ts';

const TASKS: Statement = {
  name: 'test.tasks',
  text: `select to_jsonb(t) - 'id' - 'workflow_id' - 'created_at' - 'updated_at' - 'has_spec' as task,
      exists (select 1 from ready r where r.task_id = t.id and r.lane = t.kind_id and r.rank = -t.priority) as is_ready,
      (select count(*)::integer from dedupe_entry e where e.task_id = t.id) as entries
    from task t where t.id = any($1::text[]::uuid[]) order by t.id`,
};

const EDGES: Statement = {
  name: 'test.edges',
  text: `select p.name as parent, c.name as child, e.requires_success, e.crosses, e.relayed
    from edge e join task p on p.id = e.parent_id join task c on c.id = e.child_id
    where e.child_id = any($1::text[]::uuid[]) order by p.name, c.name`,
};

/** A policy of retries makes no difference before a failure, but gives the task a spec. */
const RETRY = { max_attempts: 2, base_ms: 1, factor: 1, max_ms: 1, jitter: 0 };

const VARIED: Partial<NewTask>[] = [
  { name: 'bare' },
  {
    name: 'with "quotes", \\backslashes\\, {braces} and ünïcode',
    metadata: { text: 'a "b" \\c\\ {d,e} null\n', n: null },
  },
  { name: 'null', local_id: 'NULL', priority: -7, timeout_secs: 12 },
  { name: 'first to start', priority: 9, expected_count: 5, deadline_basis: 'start' },
  { name: 'child', dependencies: [{ index: 0, requires_success: true }] },
  {
    name: 'child of two',
    metadata: { nested: { list: [1, 'x', { y: 2 }] } },
    dependencies: [
      { index: 1, requires_success: true },
      { index: 4, requires_success: false },
    ],
  },
];

async function stored(database: Database, tasks: readonly { id: string }[]): Promise<unknown> {
  const ids = tasks.map(({ id }) => id);
  return [await database.query(TASKS, [ids]), await database.query(EDGES, [ids])];
}

test('plain tasks are stored as others are, rules and duplicates of their kind included', async () => {
  const { engine, database } = await newBench();
  const matcher = { kind: 'work', fields: ['nested'] };
  // From now on tasks of the kind are counted, and found as duplicates.
  await submitTasks(engine, [
    newTask({ rules: [{ type: 'concurrency', matcher, max: 100 }] }),
    newTask({ dedupe: [{ ...matcher, states: ['running'] }] }),
  ]);
  const plain = await submitTasks(
    engine,
    VARIED.map((task) => newTask(task)),
  );
  const others = await submitTasks(
    engine,
    VARIED.map((task) => newTask({ ...task, retry: RETRY })),
  );
  const [tasks] = (await stored(database, plain.tasks)) as [
    { is_ready: boolean; entries: number; task: { wants: unknown } }[],
  ];
  assert.deepEqual(
    tasks.map(({ is_ready, entries }) => [is_ready, entries]),
    VARIED.map(({ dependencies }) => [dependencies === undefined, 1]),
  );
  assert.ok(tasks.every(({ task }) => task.wants !== null));
  assert.deepEqual(await stored(database, plain.tasks), await stored(database, others.tasks));
});

test('plain tasks of several kinds are claimed from the lanes of their kinds, by precedence', async () => {
  const { engine } = await newBench();
  const { tasks } = await submitTasks(engine, [
    newTask({ kind: 'other', priority: 1 }),
    newTask({ metadata: { a: '"' } }),
    newTask({ priority: 2 }),
    newTask({ kind: 'other', dependencies: [{ index: 1, requires_success: true }] }),
  ]);
  const claimed = await claimKind(engine, 'work', 10);
  assert.deepEqual(
    claimed.map(({ id, metadata }) => [id, metadata]),
    [
      [tasks[2]!.id, {}],
      [tasks[1]!.id, { a: '"' }],
    ],
  );
  assert.deepEqual(
    (await claimKind(engine, 'other', 10)).map(({ id }) => id),
    [tasks[0]!.id],
  );
});
