import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import type { NewTask } from '@heddle/base/vocabulary/task';
import type { ClaimAlong, ClaimedTask, Engine } from '../../src/engine/port.ts';
import type { Database, Statement } from '../../src/store/database.ts';
import { newId } from '@heddle/base/random';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

function offerTo(engine: Engine, limit: number, arrived: (ClaimedTask[] | null)[], lanes = ['kind:work']): () => void {
  const along: ClaimAlong = { request: { lanes, limit, holder: 'here' }, arrived: (tasks) => void arrived.push(tasks) };
  return engine.offerToClaim(lanes, () => along);
}

/** All that is stored of a task that runs, except ids and times; of these, how far apart they are. */
const RUNNING: Statement = {
  name: 'test.running',
  text: `select to_jsonb(t) - '{id,workflow_id,created_at,updated_at,claimed_at,started_at,deadline_at,lease_id,has_spec}'::text[]
      as task, to_jsonb(w) - '{id,created_at}'::text[] as workflow, w.id = t.workflow_id as is_own,
      to_jsonb(l) - '{id,claimed_at,check_at,task_ids}'::text[] as lease, l.task_ids = array[t.id] as leased,
      t.created_at = w.created_at and t.started_at = t.claimed_at and t.started_at = l.claimed_at as at_once,
      t.deadline_at - t.started_at as runs_at_most, l.check_at - l.claimed_at as checked_within,
      exists (select 1 from ready r where r.task_id = t.id) as is_ready
    from task t join workflow w on w.id = t.workflow_id left join lease l on l.id = t.lease_id
    where t.id = $1::text::uuid`,
};

async function runningOf(database: Database, id: string): Promise<Record<string, unknown>> {
  const [row] = await database.query<Record<string, unknown>>(RUNNING, [id]);
  return row!;
}

const VARIED: Partial<NewTask>[] = [
  {},
  { name: 'with "quotes", \\backslashes\\ and ünïcode', metadata: { text: 'a "b" {d,e} null\n', n: null } },
  { local_id: 'NULL', priority: -7, timeout_secs: 12 },
  { priority: 9, expected_count: 5, deadline_basis: 'start' },
];

describe('a claim that rides on a submission', () => {
  test('starts what is submitted in the transaction that stores it, by precedence, and no more than was offered', async () => {
    const { engine } = await newBench();
    const arrived: (ClaimedTask[] | null)[] = [];
    const old = await submitTasks(engine, [newTask({ priority: 5 })]);
    const withdraw = offerTo(engine, 2, arrived);
    const { tasks } = await submitTasks(engine, [newTask({ priority: 1 }), newTask({ priority: 9 })]);
    assert.equal(arrived.length, 1);
    assert.deepEqual(
      arrived[0]!.map(({ id, attempt }) => [id, attempt]),
      [
        [tasks[1]!.id, 1],
        [old.tasks[0]!.id, 1],
      ],
    );
    assert.equal((await engine.getTask(tasks[1]!.id))?.state, 'running');
    assert.equal((await engine.getTask(tasks[0]!.id))?.state, 'pending');
    await succeed(engine, arrived[0]!);
    withdraw();
    await submitTasks(engine, [newTask()]);
    assert.equal(arrived.length, 1, 'an offer that was withdrawn is not taken');
    assert.equal((await claimKind(engine)).length, 2);
  });

  test('is not asked for other kinds, for large sets, or where a transaction may be rolled back', async () => {
    const { engine } = await newBench();
    const arrived: (ClaimedTask[] | null)[] = [];
    offerTo(engine, 10, arrived);
    await submitTasks(engine, [newTask({ kind: 'other' })]);
    await submitTasks(
      engine,
      Array.from({ length: 65 }, () => newTask()),
    );
    const idempotency = { key: 'once', body_hash: 'hash' };
    const submission = { workflow_id: newId(), name: null, tasks: [newTask()], traceparent: null, idempotency };
    await engine.submit([submission]);
    assert.deepEqual(arrived, []);
  });

  test('of a submission that fails brings nothing, and says so', async () => {
    const { engine } = await newBench({ clock: systemClock });
    const arrived: (ClaimedTask[] | null)[] = [];
    const task = newTask();
    await submitTasks(engine, [task]);
    offerTo(engine, 10, arrived);
    await assert.rejects(submitTasks(engine, [task]));
    assert.deepEqual(arrived, [null]);
  });

  test('stores and hands out a task alone as it does one that has more to it', async () => {
    const { engine, database } = await newBench();
    const arrived: (ClaimedTask[] | null)[] = [];
    offerTo(engine, 10, arrived);
    // A policy of retries makes no difference before a failure, but the task is not a plain one.
    const retry = { max_attempts: 2, base_ms: 1, factor: 1, max_ms: 1, jitter: 0 };
    for (const more of VARIED) {
      const rows: Record<string, unknown>[] = [];
      for (const task of [newTask(more), newTask({ ...more, retry })]) {
        const traceparent = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
        await engine.submit([{ workflow_id: newId(), name: 'named', tasks: [task], traceparent, idempotency: null }]);
        const { id, workflow_id: _workflow, ...handed } = arrived.pop()![0]!;
        assert.equal(id, task.id);
        rows.push({ handed, ...(await runningOf(database, id)) });
        await succeed(engine, [{ id, attempt: 1 }]);
      }
      assert.deepEqual(rows[0], rows[1]);
      assert.equal(rows[0]!['leased'], true);
      assert.equal(rows[0]!['is_ready'], false);
    }
  });

  test('starts no task alone that a rule counts, or that must be found as a duplicate, without doing either', async () => {
    const { engine } = await newBench();
    const arrived: (ClaimedTask[] | null)[] = [];
    const matcher = { kind: 'work', fields: ['name'] };
    const limited = newTask({ rules: [{ type: 'concurrency', matcher: { kind: 'work', fields: [] }, max: 1 }] });
    await submitTasks(engine, [limited]);
    assert.equal((await claimKind(engine)).length, 1);
    offerTo(engine, 10, arrived);
    const alone = newTask({ rules: limited.rules });
    await submitTasks(engine, [alone]);
    assert.equal((await engine.getTask(alone.id))?.state, 'pending', 'the slot is taken');
    await succeed(engine, [{ id: limited.id, attempt: 1 }]);
    await succeed(engine, await claimKind(engine));

    await submitTasks(engine, [newTask({ kind: 'other', dedupe: [{ ...matcher, states: ['running'] }] })]);
    const first = newTask({ metadata: { name: 'same' } });
    await submitTasks(engine, [first]);
    assert.equal((await engine.getTask(first.id))?.state, 'running');
    const again = newTask({ metadata: { name: 'same' }, dedupe: [{ ...matcher, states: ['running'] }] });
    const { tasks } = await submitTasks(engine, [again]);
    assert.equal(tasks[0]!.deduplicated_to, first.id);
  });
});
