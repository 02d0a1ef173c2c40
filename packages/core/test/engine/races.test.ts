import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import type { Rule } from '@heddle/base/vocabulary/task';
import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import type { Statement } from '../../src/store/database.ts';
import {
  claimKind,
  drain,
  newBench,
  newTask,
  submitTasks,
  succeed,
  type Bench,
} from '@heddle/test-support/engine/fixture';

/** Races between transactions, each run many times with everything at once; each fails when its remedy is taken out. */
describe('races', { concurrency: false }, () => {
  let bench: Bench;
  before(async () => {
    bench = await newBench();
  });

  const slotUse: Statement = {
    name: 'test.slot_use',
    text: `select s.used from heddle.slot s join heddle.shape h on h.id = s.shape_id
      join heddle.kind k on k.id = h.kind_id where k.name = $1`,
  };

  async function used(kind: string): Promise<number[]> {
    return (await bench.database.query<{ used: number }>(slotUse, [kind])).map((row) => row.used);
  }

  function limit(kind: string, max: number, fields: string[] = []): Rule {
    return { type: 'concurrency', matcher: { kind, fields }, max };
  }

  test('two parents that end in two transactions open their child once', async () => {
    for (let round = 0; round < 25; round += 1) {
      const kind = `gate-${round}`;
      const result = await submitTasks(bench.engine, [
        newTask({ kind }),
        newTask({ kind }),
        newTask({
          kind,
          dependencies: [
            { index: 0, requires_success: true },
            { index: 1, requires_success: true },
          ],
        }),
      ]);
      const parents = await claimKind(bench.engine, kind);
      assert.equal(parents.length, 2);
      await Promise.all(parents.map((parent) => succeed(bench.engine, [parent])));
      const child = await bench.engine.getTask(result.tasks[2]!.id);
      assert.deepEqual([child?.state, child?.open_gates], ['pending', 0]);
    }
  });

  test('a task that became ready at a moment that a claim has not come to yet is not lost', async () => {
    const kind = 'ahead';
    let now = Date.UTC(2026, 0, 1, 0, 0, 10);
    const { engine } = await newBench({ clock: Object.assign(new VirtualClock(), { now: () => now }) });
    const result = await submitTasks(engine, [
      newTask({ kind }),
      newTask({ kind, dependencies: [{ index: 0, requires_success: true }] }),
    ]);
    await succeed(engine, await claimKind(engine, kind));
    now -= 5_000;
    assert.deepEqual(await claimKind(engine, kind), []);
    now += 10_000;
    await engine.sweep();
    assert.deepEqual(
      (await claimKind(engine, kind)).map(({ id }) => id),
      [result.tasks[1]!.id],
    );
    await engine.close();
  });

  test('two parents that end in one set close two gates of their child', async () => {
    await submitTasks(bench.engine, [
      newTask({ kind: 'set' }),
      newTask({ kind: 'set' }),
      newTask({
        kind: 'set',
        dependencies: [
          { index: 0, requires_success: true },
          { index: 1, requires_success: false },
        ],
      }),
    ]);
    assert.equal(await drain(bench.engine, 'set'), 3);
  });

  test('claims of many connections hand out every task once', async () => {
    await submitTasks(
      bench.engine,
      Array.from({ length: 500 }, () => newTask({ kind: 'shared' })),
    );
    const claimed: string[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (;;) {
          const set = await claimKind(bench.engine, 'shared', 7);
          if (set.length === 0) return;
          claimed.push(...set.map((task) => task.id));
        }
      }),
    );
    claimed.push(...(await claimKind(bench.engine, 'shared')).map((task) => task.id));
    assert.equal(claimed.length, 500);
    assert.equal(new Set(claimed).size, 500);
  });

  test('claims at once never exceed a limit, and all tasks run', async () => {
    const kind = 'limited';
    const rules = [limit(kind, 3)];
    await submitTasks(
      bench.engine,
      Array.from({ length: 120 }, () => newTask({ kind, rules })),
    );
    let running = 0;
    let most = 0;
    let ran = 0;
    const worker = async (): Promise<void> => {
      for (let idle = 0; idle < 40 && ran < 120;) {
        const set = await claimKind(bench.engine, kind, 5);
        running += set.length;
        most = Math.max(most, running);
        idle = set.length === 0 ? idle + 1 : 0;
        running -= set.length;
        if (set.length > 0) await succeed(bench.engine, set);
        ran += set.length;
      }
    };
    // Counting before and after each await is exact: between a claim's answer and the report nothing else runs here.
    await Promise.all(Array.from({ length: 6 }, worker));
    ran += await drain(bench.engine, kind);
    assert.equal(ran, 120);
    assert.ok(most <= 3, `${most} ran at once`);
    assert.deepEqual(await used(kind), [0]);
  });

  test('tasks without rules are counted by the rules of others', async () => {
    const kind = 'mixed';
    await submitTasks(
      bench.engine,
      Array.from({ length: 4 }, () => newTask({ kind })),
    );
    const free = await claimKind(bench.engine, kind);
    assert.equal(free.length, 4);
    // Registered while four attempts are open: they count.
    await submitTasks(bench.engine, [newTask({ kind, rules: [limit(kind, 4)] })]);
    assert.deepEqual(await claimKind(bench.engine, kind), []);
    await succeed(bench.engine, free.slice(0, 1));
    assert.equal((await claimKind(bench.engine, kind)).length, 1);
  });

  test('a shape registered while claims run misses no attempt', async () => {
    for (let round = 0; round < 15; round += 1) {
      const kind = `late-${round}`;
      await submitTasks(
        bench.engine,
        Array.from({ length: 20 }, () => newTask({ kind })),
      );
      const [first, , second] = await Promise.all([
        claimKind(bench.engine, kind, 8),
        submitTasks(bench.engine, [newTask({ kind, rules: [limit(kind, 100)] })]),
        claimKind(bench.engine, kind, 8),
      ]);
      assert.deepEqual(await used(kind), [first.length + second.length]);
      await Promise.all([succeed(bench.engine, first), succeed(bench.engine, second)]);
      assert.deepEqual(await used(kind), [0]);
    }
  });

  test('overlapping matchers and differing maxima each hold', async () => {
    const kind = 'overlap';
    const narrow = limit(kind, 1, ['tenant']);
    const wide = limit(kind, 3);
    await submitTasks(
      bench.engine,
      Array.from({ length: 24 }, (_, n) => newTask({ kind, metadata: { tenant: n % 6 }, rules: [narrow, wide] })),
    );
    let ran = 0;
    for (;;) {
      const set = await claimKind(bench.engine, kind);
      if (set.length === 0) break;
      assert.ok(set.length <= 3);
      assert.equal(new Set(set.map((task) => task.metadata['tenant'])).size, set.length);
      await succeed(bench.engine, set);
      ran += set.length;
    }
    assert.equal(ran, 24);
  });

  test('a cancel beside a report: one wins, and the canceled stay canceled', async () => {
    for (let round = 0; round < 25; round += 1) {
      const kind = `cancel-${round}`;
      await submitTasks(bench.engine, [
        newTask({ kind }),
        newTask({ kind, dependencies: [{ index: 0, requires_success: true }] }),
      ]);
      const [parent] = await claimKind(bench.engine, kind);
      const [[canceled], [reported]] = await Promise.all([
        bench.engine.cancel([parent!.id]),
        bench.engine.report([{ task_id: parent!.id, attempt: 1, outcome: 'succeeded' }]),
      ]);
      const won = [canceled!.result, reported!.result].filter((result) => result === 'applied');
      assert.equal(won.length, 1);
      const task = await bench.engine.getTask(parent!.id);
      assert.equal(task?.state, canceled!.result === 'applied' ? 'canceled' : 'succeeded');
    }
  });

  test('a cancel beside claims brings no canceled task back to life', async () => {
    for (let round = 0; round < 20; round += 1) {
      const kind = `undead-${round}`;
      const { tasks } = await submitTasks(
        bench.engine,
        Array.from({ length: 30 }, () => newTask({ kind })),
      );
      const ids = tasks.map((task) => task.id);
      const [claimed, canceled] = await Promise.all([claimKind(bench.engine, kind, 15), bench.engine.cancel(ids)]);
      assert.ok(canceled.every((outcome) => outcome.result === 'applied'));
      await succeed(bench.engine, claimed);
      const { tasks: states } = await bench.engine.listTasks({ kind, offset: 0, limit: 100 });
      assert.ok(states.every((task) => task.state === 'canceled'));
      assert.deepEqual(await claimKind(bench.engine, kind), []);
    }
  });

  test('whole DAGs settled and canceled at once end without a deadlock that shows', async () => {
    const kind = 'storm';
    const dags = await Promise.all(
      Array.from({ length: 6 }, () =>
        submitTasks(
          bench.engine,
          Array.from({ length: 40 }, (_, n) =>
            newTask({
              kind,
              dependencies:
                n < 10
                  ? []
                  : [n - 10, n - 7 < n ? n - 7 : n - 10].map((index) => ({ index, requires_success: n % 3 > 0 })),
            }),
          ),
        ),
      ),
    );
    await Promise.all([
      ...Array.from({ length: 4 }, () => drain(bench.engine, kind, 13)),
      ...dags.slice(0, 3).map((dag) => bench.engine.cancelWorkflow(dag.workflow_id)),
    ]);
    await drain(bench.engine, kind);
    for (const dag of dags) {
      const workflow = await bench.engine.getWorkflow(dag.workflow_id);
      assert.equal(workflow?.remaining, 0);
      assert.notEqual(workflow.ended_at, null);
    }
  });

  test('a dependency on a stored task that ends at the same moment does not stay shut', async () => {
    for (let round = 0; round < 20; round += 1) {
      const kind = `stored-${round}`;
      const dedupe = [{ kind, states: ['running' as const, 'pending' as const], fields: ['key'] }];
      await submitTasks(bench.engine, [newTask({ kind, metadata: { key: 1 }, dedupe })]);
      const [parent] = await claimKind(bench.engine, kind);
      const [, child] = await Promise.all([
        succeed(bench.engine, [parent!]),
        submitTasks(bench.engine, [
          newTask({ kind, metadata: { key: 1 }, dedupe }),
          newTask({ kind: `${kind}-child`, dependencies: [{ index: 0, requires_success: true }] }),
        ]),
      ]);
      // If the parent had ended before the submission read it, another task stands in for it.
      await drain(bench.engine, kind);
      await bench.engine.sweep();
      assert.equal((await bench.engine.getTask(child.tasks[1]!.id))?.state, 'pending');
    }
  });

  test('simultaneous submissions with one dedupe key create one task', async () => {
    const kind = 'once';
    const dedupe = [{ kind, states: ['pending' as const], fields: ['key'] }];
    const results = await Promise.all(
      Array.from({ length: 12 }, () => submitTasks(bench.engine, [newTask({ kind, metadata: { key: 'a' }, dedupe })])),
    );
    assert.equal(results.filter((result) => result.tasks[0]!.deduplicated_to === null).length, 1);
    assert.equal((await bench.engine.listTasks({ kind, offset: 0, limit: 50 })).tasks.length, 1);
  });

  test('simultaneous submissions with one idempotency key create one workflow', async () => {
    const results = await Promise.all(
      Array.from({ length: 10 }, () =>
        bench.engine.submit([
          {
            workflow_id: newId(),
            name: null,
            tasks: [newTask({ kind: 'idempotent' })],
            traceparent: null,
            idempotency: { key: 'the-key', body_hash: 'hash' },
          },
        ]),
      ),
    );
    assert.equal(new Set(results.map(([result]) => result!.workflow_id)).size, 1);
    assert.equal(results.filter(([result]) => !result!.replayed).length, 1);
    await assert.rejects(
      bench.engine.submit([
        {
          workflow_id: newId(),
          name: null,
          tasks: [newTask()],
          traceparent: null,
          idempotency: { key: 'the-key', body_hash: 'another' },
        },
      ]),
      { code: 'IDEMPOTENCY_MISMATCH' },
    );
  });

  test('counters of many connections add up, also with repeats', async () => {
    const { tasks } = await submitTasks(bench.engine, [newTask({ kind: 'counted' }), newTask({ kind: 'counted' })]);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        bench.engine.progress(
          [0, 1, 0].map((index, at) => ({
            task_id: tasks[index]!.id,
            new_success: 1,
            new_failures: 2,
            attempt: null,
            idempotency_key: `${n % 10}-${at}`,
          })),
        ),
      ),
    );
    const counts = await Promise.all(tasks.map((task) => bench.engine.getTask(task.id)));
    assert.deepEqual(
      counts.map((task) => [task?.success_count, task?.failure_count]),
      [
        [20, 40],
        [10, 20],
      ],
    );
  });

  test('a blocked head of the queue does not keep others waiting', async () => {
    const kind = 'head';
    const rules = [limit(kind, 1, ['tenant'])];
    await submitTasks(
      bench.engine,
      Array.from({ length: 50 }, () => newTask({ kind, metadata: { tenant: 'big' }, rules })),
    );
    await submitTasks(bench.engine, [newTask({ kind, metadata: { tenant: 'small' }, rules })]);
    const tenants: unknown[] = [];
    for (let n = 0; n < 15; n += 1) {
      tenants.push(...(await claimKind(bench.engine, kind, 5)).map((task) => task.metadata['tenant']));
    }
    assert.deepEqual(tenants.sort(), ['big', 'small']);
  });

  test('a returned slot goes to the task that has waited longest, not to the next caller', async () => {
    const kind = 'fair';
    const rules = [limit(kind, 1)];
    const { tasks } = await submitTasks(
      bench.engine,
      Array.from({ length: 3 }, () => newTask({ kind, rules })),
    );
    const [first] = await claimKind(bench.engine, kind);
    // A newcomer is ready before the slot is free; the second of the old ones still goes first.
    await submitTasks(bench.engine, [newTask({ kind, rules })]);
    await succeed(bench.engine, [first!]);
    const [next] = await claimKind(bench.engine, kind, 1);
    assert.equal(next?.id, tasks[1]!.id);
  });
});
