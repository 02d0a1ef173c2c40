import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { systemClock } from '@heddle/base/clock';
import type { ClaimAlong, ClaimedTask, Engine } from '../../src/engine/port.ts';
import { newId } from '@heddle/base/random';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

function offerTo(engine: Engine, limit: number, arrived: (ClaimedTask[] | null)[], lanes = ['kind:work']): () => void {
  const along: ClaimAlong = { request: { lanes, limit, holder: 'here' }, arrived: (tasks) => void arrived.push(tasks) };
  return engine.offerToClaim(lanes, () => along);
}

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
});
