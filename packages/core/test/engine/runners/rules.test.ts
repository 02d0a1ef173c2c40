import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import type { Rule } from '@heddle/base/vocabulary/task';
import type { ClaimedTask } from '../../../src/engine/port.ts';
import { claimKind, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import {
  claimAt,
  endRunner,
  grant,
  needy,
  newRunnerBench,
  pass,
  releaseOver,
  releaseRunner,
  type RunnerBench,
  type TestRunner,
} from '@heddle/test-support/engine/runners/fixture';

const limit = (kind: string, max: number): Rule => ({ type: 'concurrency', matcher: { kind, fields: [] }, max });

describe('concurrency rules of tasks that need runners', { concurrency: false }, () => {
  let bench: RunnerBench;
  before(async () => {
    bench = await newRunnerBench();
  });

  async function submit(kind: string, count: number, rule: Rule = limit(kind, 2)): Promise<string[]> {
    const { tasks } = await submitTasks(
      bench.engine,
      Array.from({ length: count }, () => needy({ kind, rules: [rule], expected_count: 10 })),
    );
    return tasks.map(({ id }) => id);
  }

  const askedFor = (ids: readonly string[]): string[] =>
    bench.asked.filter(({ task_id }) => ids.includes(task_id)).map(({ task_id }) => task_id);

  /** Runs tasks that wait for runners, one after the other; returns the maximum number of concurrent requests. */
  async function drainAll(ids: readonly string[]): Promise<number> {
    let most = 0;
    const done = new Set<string>();
    for (let round = 0; round < 3 * ids.length && done.size < ids.length; round += 1) {
      await bench.engine.sweep();
      await pass(bench);
      const waiting = await bench.rows<{ task_id: string }>(
        'select task_id from runner_request where state = 0 and task_id = any($1::uuid[]) order by rank',
        [ids],
      );
      most = Math.max(most, waiting.length);
      const running: { task: ClaimedTask; runner: TestRunner }[] = [];
      for (const { task_id } of waiting) {
        const [runner] = await grant(bench, task_id);
        const [task] = await claimAt(bench.engine, runner!);
        assert.equal(task?.id, task_id);
        running.push({ task: task, runner: runner! });
      }
      for (const { task, runner } of running) {
        await succeed(bench.engine, [task]);
        await releaseRunner(bench, runner);
        done.add(task.id);
      }
    }
    assert.equal(done.size, ids.length);
    return most;
  }

  test('no more runners are requested than a rule allows tasks to run', async () => {
    const ids = await submit('few', 7);
    await pass(bench);
    assert.deepEqual(askedFor(ids), ids.slice(0, 2));
    for (let look = 0; look < 3; look += 1) {
      await bench.engine.sweep();
      await pass(bench);
    }
    assert.equal(askedFor(ids).length, 2);
    assert.equal(await drainAll(ids), 2);
    assert.equal(askedFor(ids).length, 7);
  });

  test('a rule on capacity includes the work of tasks that wait for runners', async () => {
    const ids = await submit('work-left', 5, {
      type: 'capacity',
      matcher: { kind: 'work-left', fields: [] },
      max: 20,
    });
    await pass(bench);
    assert.equal(askedFor(ids).length, 2);
    assert.equal(await drainAll(ids), 2);
  });

  test('a task canceled while it waits lets the next one request a runner', async () => {
    const ids = await submit('canceled', 3, limit('canceled', 1));
    await pass(bench);
    assert.deepEqual(askedFor(ids), [ids[0]]);
    await bench.engine.cancel([ids[0]!]);
    await releaseOver(bench);
    await bench.engine.sweep();
    await pass(bench);
    assert.deepEqual(askedFor(ids), ids.slice(0, 2));
  });

  test('if another task takes the slot, the task waits with its runner and runs when the slot is free', async () => {
    const kind = 'raced';
    const [id] = await submit(kind, 1, limit(kind, 1));
    await pass(bench);
    const [runner] = await grant(bench, id!);
    await submitTasks(bench.engine, [newTask({ kind })]);
    const others = await claimKind(bench.engine, kind);
    assert.equal(others.length, 1);
    assert.deepEqual(await claimAt(bench.engine, runner!), []);
    let woken = 0;
    const unsubscribe = bench.engine.onReady([`runner:${runner!.number}`], () => (woken += 1));
    await new Promise((resolve) => setImmediate(resolve));
    const before = woken;
    await succeed(bench.engine, others);
    assert.ok(woken > before);
    unsubscribe();
    assert.deepEqual(
      (await claimAt(bench.engine, runner!)).map((task) => task.id),
      [id],
    );
  });

  test('a task blocked in the lane of a lost runner waits for another one', async () => {
    const kind = 'lost';
    const [id] = await submit(kind, 1, limit(kind, 1));
    await pass(bench);
    const [runner] = await grant(bench, id!);
    await submitTasks(bench.engine, [newTask({ kind })]);
    const others = await claimKind(bench.engine, kind);
    assert.deepEqual(await claimAt(bench.engine, runner!), []);
    await endRunner(bench, runner!, 'lost');
    await succeed(bench.engine, others);
    await releaseOver(bench);
    await pass(bench);
    const [next] = await grant(bench, id!);
    assert.deepEqual(
      (await claimAt(bench.engine, next!)).map((task) => task.id),
      [id],
    );
  });
});
