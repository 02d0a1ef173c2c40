/** Reads whose cost must not grow with the number of stored tasks, at two sizes of the store. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { newId, systemRandom } from '@heddle/base/random';
import { drain, newBench, newTask, submitTasks, type Bench } from '@heddle/test-support/engine/fixture';
import { openTestDatabase } from '@heddle/test-support/postgres';
import { createEngine } from '../../src/engine/engine.ts';
import { countDeliveries } from '../../src/store/deliveries.ts';
import { findHolders } from '../../src/store/obstacles.ts';
import type { Queryable, Statement } from '../../src/store/database.ts';
import { countEndedTasks, countOpenTasks, countRunningByKind } from '../../src/store/task-gauges.ts';
import { findTasks, type TaskQuery } from '../../src/store/task-lists.ts';
import { findWorkflows, type WorkflowQuery } from '../../src/store/workflow-lists.ts';
import { blocksRead, rowsRead } from '../support/engine/blocks-read.ts';

const FEW = 2_000;
const MANY = 20_000;
const EXAMINED_MAX = 500;

/** Ended tasks, newer than all others, each in a run of its own; half of them archived, a few failed. */
const FILL: Statement = {
  name: 'test.fill',
  text: `with moved as (
      select gen_random_uuid() as run, ('ff' || substr(gen_random_uuid()::text, 3))::uuid as id, n % 100 = 0 as failed, n
      from generate_series(1, $1) n
    ), runs as (
      insert into workflow (id, linked, task_count, remaining, succeeded, failed, canceled, skipped, failing, kinds,
        outcome, created_at, ended_at)
      select run, false, 1, 0, 1 - failed::integer, failed::integer, 0, 0, failed, array[1], case when failed then 11 else 10 end,
        now(), now() from moved where n % 2 = 0
    ), archived_runs as (
      insert into archive_workflow (id, linked, task_count, remaining, created_at, ended_at, archived_at, kinds, outcome)
      select run, false, 1, 0, now(), now(), now(), array[1], 10 from moved where n % 2 = 1
    ), tasks as (
      insert into task (id, workflow_id, kind_id, state, attempt, timeout_secs, created_at, updated_at, ended_at, name, metadata)
      select id, run, 1, case when failed then 11 else 10 end, 1, 60, now(), now(), now(), 'ended', '{"n": 1}'
      from moved where n % 2 = 0
    )
    insert into archive_task (id, workflow_id, kind_id, state, attempt, timeout_secs, created_at, updated_at, ended_at, name, metadata)
    select id, run, 1, 10, 1, 60, now(), now(), now(), 'archived', '{"n": 1}' from moved where n % 2 = 1`,
};

const FILL_DELIVERIES: Statement = {
  name: 'test.fill_deliveries',
  text: `insert into delivery (id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, idempotency_key, state,
      created_at, delivered_at)
    select gen_random_uuid(), t.id, t.workflow_id, 1, 'success', 0, 'https://a.example', '{}', t.id::text, 'delivered',
      now(), now() from task t where t.ended_at is not null`,
};

const analyze = (table: string): Statement => ({ name: `test.analyze_${table}`, text: `vacuum (analyze) ${table}` });

const TASKS: TaskQuery = {
  states: undefined,
  kindIds: null,
  name: undefined,
  workflowId: undefined,
  metadata: null,
  after: undefined,
  limit: 20,
  offset: 0,
  examinedMax: EXAMINED_MAX,
};

const WORKFLOWS: WorkflowQuery = {
  open: null,
  trees: null,
  rootStates: null,
  after: null,
  limit: 20,
  offset: 0,
  examinedMax: EXAMINED_MAX,
};

/** A store with open tasks, which are its oldest, and `ended` tasks. */
async function store(ended: number): Promise<Bench & { run: string }> {
  const bench = await newBench();
  const { engine, database } = bench;
  const tasks = Array.from({ length: 60 }, (_, index) =>
    newTask({ dependencies: index < 40 ? [] : [{ index: index - 40, requires_success: true }] }),
  );
  const { workflow_id } = await submitTasks(engine, tasks);
  await engine.claim({ lanes: ['kind:work'], limit: 10, holder: 'test' });
  await engine.pause(tasks.slice(20, 25).map(({ id }) => id));
  await database.query(FILL, [ended]);
  await database.query(FILL_DELIVERIES);
  for (const table of ['task', 'archive_task', 'workflow', 'archive_workflow', 'delivery']) {
    await database.query(analyze(table));
  }
  return { ...bench, run: workflow_id };
}

const PAGES: Statement = {
  name: 'test.pages',
  text: `select sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::bigint as n from pg_statio_user_tables
    where schemaname = 'heddle' and idx_blks_hit is not null`,
};

/** The pages that a submission, its tasks, a sweep and the retention touch, by one session that reports them at once. */
async function pagesOfWork({ url }: Bench): Promise<number> {
  const database = openTestDatabase(url, { maxSize: 1 });
  const engine = createEngine({ database, clock: systemClock, random: systemRandom, log: silentLogger });
  const pages = async (): Promise<number> => {
    await database.query({ name: 'test.flush', text: 'select pg_stat_force_next_flush()' });
    return (await database.query<{ n: number }>(PAGES))[0]!.n;
  };
  const work = async (): Promise<void> => {
    await submitTasks(
      engine,
      Array.from({ length: 100 }, () => newTask({ kind: 'measured' })),
    );
    assert.equal(await drain(engine, 'measured', 50), 100);
    await engine.sweep();
    await engine.retain(100);
  };
  // Plans and caches are made at first.
  await work();
  const before = await pages();
  await work();
  const touched = (await pages()) - before;
  await engine.close();
  await database.close();
  return touched;
}

describe('a read touches as many pages of a store with ten times as many ended tasks', () => {
  let few: Awaited<ReturnType<typeof store>>;
  let many: Awaited<ReturnType<typeof store>>;

  before(async () => {
    few = await store(FEW);
    many = await store(MANY);
  });

  const bounded = (title: string, read: (queryable: Queryable, run: string) => Promise<unknown>): void => {
    test(title, async () => {
      const [small, large] = [
        await blocksRead(few.database, (queryable) => read(queryable, few.run)),
        await blocksRead(many.database, (queryable) => read(queryable, many.run)),
      ];
      // A level more of an index for each row that is looked up.
      assert.ok(large <= small * 1.5 + 20, `${small} pages at ${FEW} ended tasks, ${large} at ${MANY}`);
    });
  };

  const listed = (query: Partial<TaskQuery>) => (queryable: Queryable) => findTasks(queryable, { ...TASKS, ...query });

  for (const state of ['waiting', 'pending', 'claimed', 'running', 'paused', 'failed', 'canceled'] as const) {
    bounded(`the list of ${state} tasks`, listed({ states: [state] }));
  }
  bounded('the list of all tasks', listed({}));
  bounded('the list of tasks by name', listed({ name: 'nothing' }));
  bounded('the list of tasks by metadata', listed({ metadata: '{"n": 2}' }));
  bounded(
    'the list of tasks after a cursor',
    listed({ name: 'nothing', after: 'ffff0000-0000-4000-8000-000000000000' }),
  );
  bounded('the list of tasks of a run', (queryable, run) => findTasks(queryable, { ...TASKS, workflowId: run }));
  bounded('the list of failed tasks of a run', (queryable, run) =>
    findTasks(queryable, { ...TASKS, workflowId: run, states: ['failed'] }),
  );

  const runs = (query: Partial<WorkflowQuery>) => (queryable: Queryable) =>
    findWorkflows(queryable, { ...WORKFLOWS, ...query });
  bounded('the list of open batches', runs({ trees: false, open: true }));
  bounded('the list of ended batches', runs({ trees: false, open: false }));
  bounded('the list of open workflows', runs({ trees: true, open: true }));
  bounded('the list of workflows by state', runs({ trees: true, rootStates: ['failed'] }));

  bounded('the counts of open tasks', countOpenTasks);
  bounded('the counts of running tasks by kind', (queryable) => countRunningByKind(queryable, 100));
  bounded('the counts of ended tasks', (queryable) => countEndedTasks(queryable, 20));
  bounded('the counts of deliveries', countDeliveries);
  bounded('the holders of a slot', (queryable) => findHolders(queryable, '1'));

  test('lists by state find the open tasks among all that ended', async () => {
    const found = async (states: NonNullable<TaskQuery['states']>): Promise<number> =>
      (await findTasks(many.database, { ...TASKS, states, limit: 100 })).rows.length;
    assert.deepEqual(
      [
        await found(['waiting']),
        await found(['pending']),
        await found(['running', 'expanding']),
        await found(['paused']),
      ],
      [20, 25, 10, 5],
    );
  });

  test('pages by number are those of the whole list, and read the rows of no task that they skip', async () => {
    const page = (query: Partial<TaskQuery>) => findTasks(few.database, { ...TASKS, ...query });
    const idsOf = async (query: Partial<TaskQuery>): Promise<string[]> => (await page(query)).rows.map(({ id }) => id);
    const whole = await page({ limit: 2 * FEW });
    const ids = whole.rows.map(({ id }) => id);
    assert.equal(ids.length, FEW + 60);
    assert.deepEqual(ids, [...new Set(ids)].sort().reverse());
    const pages = [];
    for (let offset = 0; offset < ids.length; offset += 300) pages.push(await page({ limit: 300, offset }));
    assert.deepEqual(
      pages.flatMap(({ rows }) => rows),
      whole.rows,
    );
    assert.deepEqual(
      pages.map(({ next }) => next),
      [...[299, 599, 899, 1_199, 1_499, 1_799].map((at) => ids[at]!), null],
    );
    assert.deepEqual(await idsOf({ after: ids[99]!, offset: 50 }), ids.slice(150, 170));
    assert.deepEqual(await idsOf({ offset: ids.length }), []);
    const taken = await rowsRead(many.database, ['task', 'archive_task'], (queryable) =>
      findTasks(queryable, { ...TASKS, offset: MANY / 2 }),
    );
    // Either table is read one row ahead of what both give together.
    assert.ok(taken <= TASKS.limit + 2, `${taken} rows`);
  });

  test('pages of a search reach every task once, by their cursors', async () => {
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { rows, next } = await findTasks(few.database, { ...TASKS, states: ['failed'], after });
      seen.push(...rows.map(({ id }) => id));
      after = next ?? undefined;
    } while (after !== undefined);
    assert.equal(seen.length, FEW / 100);
    assert.deepEqual(seen, [...new Set(seen)].sort().reverse());
  });

  test('ended tasks are counted exactly, or from a sample of the runs', async () => {
    const { engine } = many;
    const { by_state } = await engine.gauges(10);
    assert.deepEqual(
      { succeeded: by_state.succeeded, failed: by_state.failed, waiting: by_state.waiting, pending: by_state.pending },
      { succeeded: MANY / 2 - MANY / 100, failed: MANY / 100, waiting: 20, pending: 25 },
    );
    const sampled = await countEndedTasks(many.database, 100);
    assert.ok(Math.abs(sampled.succeeded / by_state.succeeded - 1) < 0.5, `${sampled.succeeded} by a sample`);
  });

  test('an id that no task has is as good a cursor as any', async () => {
    assert.deepEqual(
      (await findTasks(few.database, { ...TASKS, after: '00000000-0000-7000-8000-000000000000' })).rows,
      [],
    );
    assert.equal((await findTasks(few.database, { ...TASKS, after: newId() })).next === null, false);
  });

  // Last, since it adds tasks.
  test('what the engine does with a set of tasks', async () => {
    const [small, large] = [await pagesOfWork(few), await pagesOfWork(many)];
    assert.ok(large <= small * 1.5 + 20, `${small} pages at ${FEW} ended tasks, ${large} at ${MANY}`);
  });
});
