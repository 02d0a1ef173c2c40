import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { JsonObject } from '@heddle/base/json';
import { ClaimSizes } from '../../../src/engine/flow/claim-sizes.ts';
import { CLAIM_STEPS_MAX, claimBudget, resolveInputs } from '../../../src/engine/flow/resolve.ts';
import type { ClaimedTask } from '../../../src/engine/port.ts';
import { SLICE_STEPS } from '../../../src/expression/meter.ts';
import { systemClock } from '@heddle/base/clock';
import type { SlicedWork } from '@heddle/base/sliced-work';
import { claimKind, newBench, type Bench } from '@heddle/test-support/engine/fixture';
import { finishNext, par, seq, submitTree } from '@heddle/test-support/engine/flow/tree';

const expr = (text: string): JsonObject => ({ $expr: text });

/** About 1,400,000 steps over a list of 450 numbers. */
const HEAVY = 'nodes.list.result.map(a, nodes.list.result.exists(b, b == -1)).size()';
/** One step of these loops, with what comes before the first one. */
const STEP_OF_A_LOOP_MAX = 1_000;
const NUMBERS = Array.from({ length: 450 }, (_, index) => index);

async function withHeavyTasks(bench: Bench, count: number, expressions: number): Promise<string> {
  const all = Array.from({ length: expressions }, () => expr(HEAVY));
  const tasks = Array.from({ length: count }, (_, index) => ({
    id: `t${String(index).padStart(2, '0')}`,
    kind: 'use',
    input: { all },
  }));
  const id = await submitTree(bench.engine, seq({ id: 'list', kind: 'list' }, par(...tasks)));
  await finishNext(bench.engine, 'list', NUMBERS);
  return id;
}

async function tasksOf({ engine }: Bench, id: string) {
  const { tree } = (await engine.getTree(id))!;
  return tree.tasks.filter(({ kind }) => kind === 'use').sort((a, b) => (a.local_id! < b.local_id! ? -1 : 1));
}

describe('the budget of a claim for expressions', { concurrency: false }, () => {
  it('bounds the steps of all of its tasks together, and of what goes on between two turns of the event loop', async () => {
    const bench = await newBench();
    const id = await withHeavyTasks(bench, 8, 2);
    const handed = (await tasksOf(bench, id)).map((task) => ({
      ...task,
      linked: true,
      computed: true,
      metadata: { all: [expr(HEAVY), expr(HEAVY)] },
    }));
    const turnsAt: number[] = [];
    const budget: SlicedWork = claimBudget({
      turn: () => {
        turnsAt.push(budget.spent);
        return Promise.resolve();
      },
    });
    const { resolved, failures, deferred } = await resolveInputs(
      { database: bench.database, clock: systemClock },
      handed,
      budget,
    );
    assert.deepEqual(failures, []);
    assert.ok(resolved.length >= 1 && deferred.length >= 1, `${resolved.length} resolved, ${deferred.length} deferred`);
    assert.deepEqual(
      [...resolved, ...deferred].map(({ local_id }) => local_id),
      handed.map(({ local_id }) => local_id),
    );
    // The operation that goes beyond the budget is counted, and is the last.
    assert.ok(budget.spent <= CLAIM_STEPS_MAX + SLICE_STEPS, `${budget.spent} steps`);
    const slices = [...turnsAt.slice(1), budget.spent].map((at, index) => at - turnsAt[index]!);
    assert.equal(turnsAt[0], 0);
    assert.ok(Math.max(...slices) <= SLICE_STEPS + STEP_OF_A_LOOP_MAX, `slices of ${slices.join(', ')} steps`);
  });

  it('leaves other tasks for the next claims, which all get further: none is lost, no attempt is used up', async () => {
    const bench = await newBench();
    const id = await withHeavyTasks(bench, 8, 2);
    const claims: ClaimedTask[][] = [];
    while (claims.flat().length < 8) {
      const claimed = await claimKind(bench.engine, 'use');
      assert.ok(claimed.length > 0, `a claim got nothing after ${claims.flat().length} tasks`);
      claims.push(claimed);
    }
    assert.ok(claims.length > 1, 'one budget sufficed for all');
    const handed = claims.flat();
    assert.deepEqual(
      handed.map(({ local_id }) => local_id),
      (await tasksOf(bench, id)).map(({ local_id }) => local_id),
    );
    assert.deepEqual(new Set(handed.map(({ attempt }) => attempt)), new Set([1]));
    assert.deepEqual(handed[7]!.metadata, { all: [450, 450] });
    await bench.engine.report(handed.map(({ id: task_id, attempt }) => ({ task_id, attempt, outcome: 'succeeded' })));
    assert.deepEqual(new Set((await tasksOf(bench, id)).map(({ state }) => state)), new Set(['succeeded']));
  });

  it('hands out what has no expressions beside tasks that wait for the next claim', async () => {
    const bench = await newBench();
    await withHeavyTasks(bench, 8, 2);
    await submitTree(bench.engine, par({ id: 'plain', kind: 'use' }));
    const claimed = await claimKind(bench.engine, 'use');
    assert.equal(claimed.at(-1)!.local_id, 'plain');
    assert.ok(claimed.length < 9);
  });

  it('fails a task that no claim has enough for, with the expression that was too much, and no one else', async () => {
    const bench = await newBench();
    const id = await submitTree(
      bench.engine,
      seq(
        { id: 'list', kind: 'list' },
        par(
          { id: 't0', kind: 'use', input: { n: expr('size(nodes.list.result)') } },
          { id: 't1', kind: 'use', input: { all: Array.from({ length: 32 }, () => expr(HEAVY)) } },
          { id: 't2', kind: 'use', input: { n: expr('size(nodes.list.result)') } },
        ),
      ),
    );
    await finishNext(bench.engine, 'list', NUMBERS);
    const claimed = [...(await claimKind(bench.engine, 'use')), ...(await claimKind(bench.engine, 'use'))];
    assert.deepEqual(
      claimed.map(({ local_id }) => local_id),
      ['t0', 't2'],
    );
    const failed = (await tasksOf(bench, id))[1]!;
    assert.deepEqual([failed.state, failed.attempt], ['failed', 1]);
    assert.match(
      (await bench.engine.getTask(failed.id))!.failure_reason!,
      /^input\.all\[\d+\]\.\$expr: with it the expressions of this input take more than 8000000 steps; read fewer values/,
    );
  });

  it('answers a claim of tasks that all fail for it with those that are ready behind them', async () => {
    const bench = await newBench();
    const costly = { all: Array.from({ length: 32 }, () => expr(HEAVY)) };
    await submitTree(
      bench.engine,
      seq(
        { id: 'list', kind: 'list' },
        par(
          { id: 't0', kind: 'use', input: costly },
          { id: 't1', kind: 'use', input: costly },
          { id: 't2', kind: 'use', input: { n: expr('size(nodes.list.result)') } },
        ),
      ),
    );
    await finishNext(bench.engine, 'list', NUMBERS);
    assert.deepEqual(
      (await claimKind(bench.engine, 'use')).map(({ local_id }) => local_id),
      ['t2'],
    );
  });

  it('wakes claimers for what it left', async () => {
    const bench = await newBench();
    await withHeavyTasks(bench, 8, 2);
    let woken = 0;
    const stop = bench.engine.onReady(['kind:use'], () => {
      woken += 1;
    });
    await claimKind(bench.engine, 'use');
    stop();
    assert.ok(woken > 0);
  });

  it('holds for tasks that go into a queue, too: what does not fit has no message', async () => {
    const sent: unknown[] = [];
    const bench = await newBench({
      queue: {
        sendIn: (_tx, _queue, messages) => {
          sent.push(...messages);
          return Promise.resolve();
        },
      },
    });
    await withHeavyTasks(bench, 8, 2);
    await bench.engine.workersSeen([{ worker: 'w', kinds: ['use'], concurrency: 8 }]);
    const first = await bench.engine.dispatch('manager', 100);
    assert.ok(first.length >= 1 && first.length < 8, `${first.length} of 8`);
    assert.equal(sent.length, first.length);
    let all = first.length;
    while (all < 8) {
      const more = await bench.engine.dispatch('manager', 100);
      assert.ok(more.length > 0);
      assert.deepEqual(new Set(more.map(({ task }) => task.attempt)), new Set([1]));
      all += more.length;
    }
    assert.equal(sent.length, 8);
  });
});

describe('sizes of claims', () => {
  it('follow what fitted, and forget the bound when everything does', () => {
    const sizes = new ClaimSizes();
    assert.equal(sizes.limitOf([1, 2], 1000), 1000);
    sizes.note([1, 2], 1000, 1000, 995);
    assert.deepEqual([sizes.limitOf([1, 2], 1000), sizes.limitOf([1, 2], 3), sizes.limitOf([1], 1000)], [5, 3, 1000]);
    sizes.note([1, 2], 5, 5, 0);
    assert.equal(sizes.limitOf([1, 2], 1000), 10);
    sizes.note([1, 2], 10, 4, 0);
    assert.equal(sizes.limitOf([1, 2], 1000), 10, 'a claim that was not full says nothing');
    sizes.note([1, 2], 10, 10, 10);
    assert.equal(sizes.limitOf([1, 2], 1000), 1);
    for (let limit = 1; limit < 1000; limit *= 2) sizes.note([1, 2], limit, limit, 0);
    assert.equal(sizes.limitOf([1, 2], 1000), 1000);
  });
});
