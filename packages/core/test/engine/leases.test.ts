import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import {
  beat,
  leaseBench,
  leased,
  LEASE_MS,
  limitOf,
  openLeases,
  sweepAll,
  usedSlots,
} from '../support/engine/lease-fixture.ts';
import type { NewTask } from '@heddle/base/vocabulary/task';
import { claimKind, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

describe('leases of workers that may be lost', { concurrency: false }, () => {
  test('tasks of a silent worker are claimed as the next attempt; its late report and heartbeat are refused', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask(), newTask({ rules: [limitOf('work', 5)] })]);
    const first = await leased(bench);
    assert.deepEqual(
      first.map(({ attempt }) => attempt),
      [1, 1],
    );
    await clock.advance(LEASE_MS - 1);
    assert.equal(await sweepAll(bench), 0);
    await clock.advance(1);
    assert.equal(await sweepAll(bench), 2);
    assert.equal((await engine.getTask(first[0]!.id))?.state, 'pending');
    assert.equal(await usedSlots(bench), 0);
    assert.deepEqual(await engine.heartbeat(first.map((task) => beat(task))), ['stale_attempt', 'stale_attempt']);

    const second = await leased(bench);
    assert.deepEqual(
      second.map(({ attempt }) => attempt),
      [2, 2],
    );
    const late = await engine.report(first.map(({ id, attempt }) => ({ task_id: id, attempt, outcome: 'succeeded' })));
    assert.deepEqual(
      late.map(({ result }) => result),
      ['stale_attempt', 'stale_attempt'],
    );
    assert.deepEqual(await engine.heartbeat(first.map((task) => beat(task))), ['stale_attempt', 'stale_attempt']);
    await succeed(engine, second);
    assert.equal((await engine.getTask(first[0]!.id))?.state, 'succeeded');
    assert.deepEqual([await usedSlots(bench), (await openLeases(bench)).n], [0, 0]);
  });

  test('a child that starts with the end of its parent expires by itself, and only its own holder ends it', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    const after = (index: number): Partial<NewTask> => ({ dependencies: [{ index, requires_success: true }] });
    await submitTasks(engine, [newTask(), newTask(after(0)), newTask(after(1))]);
    const request = { lanes: ['kind:work'], limit: 1, holder: 'worker-1', lease_ms: LEASE_MS };
    const [parent] = await engine.claim(request);
    await clock.advance(LEASE_MS / 2);
    const ended = { task_id: parent!.id, attempt: 1, outcome: 'succeeded' as const };
    const { claimed } = await engine.reportAndClaim([ended], request);
    const [child] = claimed;
    assert.equal((await openLeases(bench)).n, 1);
    assert.deepEqual(
      (await engine.report([ended])).map(({ result }) => result),
      ['unchanged'],
    );

    // The lease of the parent would have expired by now.
    await clock.advance(LEASE_MS / 2 + 1);
    assert.equal(await sweepAll(bench), 0);
    assert.equal((await engine.getTask(child!.id))?.state, 'running');
    await clock.advance(LEASE_MS / 2);
    assert.equal(await sweepAll(bench), 1);
    const late = await engine.reportAndClaim([{ ...ended, task_id: child!.id }], { ...request, holder: 'worker-2' });
    assert.deepEqual(
      late.outcomes.map(({ result }) => result),
      ['not_started'],
    );
    assert.deepEqual(
      late.claimed.map(({ id, attempt }) => [id, attempt]),
      [[child!.id, 2]],
    );

    // Another holder than the parent's gets a lease of its own.
    const last = await engine.reportAndClaim([{ ...ended, task_id: child!.id, attempt: 2 }], request);
    assert.equal((await openLeases(bench)).n, 1);
    await succeed(engine, last.claimed);
    assert.equal((await openLeases(bench)).n, 0);
  });

  test('heartbeats keep an attempt, each its own, though they were claimed as one set', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask(), newTask()]);
    const [kept, lost] = await leased(bench);
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(LEASE_MS / 3);
      assert.deepEqual(await engine.heartbeat([beat(kept!), beat(kept!)]), ['applied', 'applied']);
      await sweepAll(bench);
    }
    assert.equal((await engine.getTask(kept!.id))?.state, 'running');
    assert.equal((await engine.getTask(lost!.id))?.state, 'pending');
    await clock.advance(LEASE_MS);
    assert.equal(await sweepAll(bench), 1);
    assert.equal((await engine.getTask(kept!.id))?.state, 'pending');
  });

  test('a claim without a lease ends by its deadline alone', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask({ timeout_secs: 600 })]);
    const [task] = await claimKind(engine);
    await clock.advance(599_000);
    assert.equal(await sweepAll(bench), 0);
    await clock.advance(1_000);
    assert.equal((await engine.sweep()).timed_out, 1);
    assert.equal((await engine.getTask(task!.id))?.state, 'timed_out');
  });

  test('a deadline before the end of the lease still times out', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask({ timeout_secs: 10, deadline_basis: 'start' })]);
    const [task] = await leased(bench);
    await clock.advance(5_000);
    await engine.heartbeat([beat(task!)]);
    await clock.advance(5_000);
    assert.equal((await engine.sweep()).timed_out, 1);
    assert.equal((await engine.getTask(task!.id))?.state, 'timed_out');
  });

  test('heartbeats move a deadline that counts from activity, and add what was done; capacity follows', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    const rules = [limitOf('work', 100, 'capacity')];
    await submitTasks(engine, [newTask({ timeout_secs: 20, expected_count: 10, rules })]);
    const [task] = await leased(bench);
    assert.equal(await usedSlots(bench), 10);
    for (let n = 0; n < 3; n += 1) {
      await clock.advance(15_000);
      await engine.heartbeat([beat(task!, { new_success: 1 }), beat(task!, { new_success: 1, new_failures: 1 })]);
      await sweepAll(bench);
    }
    const now = await engine.getTask(task!.id);
    assert.deepEqual([now?.state, now?.success_count, now?.failure_count], ['running', 6, 3]);
    assert.equal(await usedSlots(bench), 1);
    await succeed(engine, [task!]);
    assert.equal(await usedSlots(bench), 0);
  });

  test('heartbeats of canceled, ended and unknown tasks say so', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask({ rules: [limitOf('work', 9)] }), newTask()]);
    const [canceled, ended] = await leased(bench);
    await engine.cancel([canceled!.id]);
    await succeed(engine, [ended!]);
    const unknown = { id: '01890000-0000-7000-8000-000000000000', attempt: 1 };
    assert.deepEqual(await engine.heartbeat([beat(canceled!), beat(ended!), beat(unknown)]), [
      'canceled',
      'canceled',
      'not_found',
    ]);
    // A worker that was asked to stop has stopped by the end of its lease, so what it held is free.
    assert.equal(await usedSlots(bench), 1);
    await clock.advance(LEASE_MS);
    await sweepAll(bench);
    assert.deepEqual([await usedSlots(bench), (await openLeases(bench)).n], [0, 0]);
  });

  test('the clock of a paused attempt stands; resumed without its worker, it is lost after a whole lease', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(engine, [newTask()]);
    const [task] = await leased(bench);
    await engine.pause([task!.id]);
    await clock.advance(LEASE_MS * 10);
    assert.equal(await sweepAll(bench), 0);
    assert.deepEqual(await engine.heartbeat([beat(task!)]), ['applied']);
    assert.equal((await engine.getTask(task!.id))?.state, 'paused');
    await engine.resume([task!.id]);
    assert.equal((await engine.getTask(task!.id))?.state, 'running');
    await clock.advance(LEASE_MS - 1);
    assert.equal(await sweepAll(bench), 0);
    await clock.advance(LEASE_MS);
    assert.equal(await sweepAll(bench), 1);
  });

  test('a task that loses its workers again and again fails in the end, later than its retry policy says', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    const retry = { max_attempts: 3, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
    await submitTasks(engine, [newTask({ rules: [limitOf('work', 9)] }), newTask({ retry })]);
    const attempts = new Map<string, number>();
    for (let n = 0; n < 15; n += 1) {
      for (const { id, attempt } of await leased(bench)) attempts.set(id, attempt);
      await clock.advance(LEASE_MS);
      await sweepAll(bench);
    }
    assert.deepEqual([...attempts.values()].sort(), [10, 12]);
    for (const id of attempts.keys()) {
      const task = await engine.getTask(id);
      assert.equal(task?.state, 'failed');
      assert.match(task.failure_reason!, /^its worker was lost: no heartbeat of attempt 1[02] for 30\.0* s/);
    }
    assert.deepEqual([await usedSlots(bench), (await openLeases(bench)).n], [0, 0]);
  });

  test('work that is handed back is ready at once, as the next attempt', async () => {
    const bench = await leaseBench();
    const { engine } = bench;
    await submitTasks(engine, [newTask({ rules: [limitOf('work', 1)] }), newTask({ kind: 'other' })]);
    const [task] = await leased(bench);
    const outcomes = await engine.release([{ task_id: task!.id, attempt: 1 }]);
    assert.deepEqual(outcomes, [{ task_id: task!.id, result: 'applied', state: 'pending' }]);
    assert.equal((await engine.release([{ task_id: task!.id, attempt: 1 }]))[0]!.result, 'unchanged');
    assert.equal(await usedSlots(bench), 0);
    const [again] = await leased(bench);
    assert.deepEqual([again!.id, again!.attempt], [task!.id, 2]);
    assert.equal((await engine.release([{ task_id: task!.id, attempt: 1 }]))[0]!.result, 'stale_attempt');
  });
});
