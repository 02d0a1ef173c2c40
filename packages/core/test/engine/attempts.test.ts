import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TaskAttempt } from '@heddle/base/vocabulary/attempt';
import { putBackAttempts } from '../../src/store/claims.ts';
import type { Statement } from '../../src/store/database.ts';
import { newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import { beat, leaseBench, leased, LEASE_MS, sweepAll, type LeaseBench } from '../support/engine/lease-fixture.ts';

const KEPT: Statement = { name: 'test.attempts', text: 'select count(*)::integer as n from heddle.task_attempt' };
const HOUR_MS = 3_600_000;
const RETRY = { max_attempts: 3, base_ms: 1_000, factor: 1, max_ms: 1_000, jitter: 0 };

async function kept({ database }: LeaseBench): Promise<number> {
  return (await database.query<{ n: number }>(KEPT))[0]!.n;
}

async function submitOne({ engine }: LeaseBench, extra: Parameters<typeof newTask>[0] = {}): Promise<string> {
  return (await submitTasks(engine, [newTask(extra)])).tasks[0]!.id;
}

function attemptsOf({ engine }: LeaseBench, id: string): Promise<TaskAttempt[]> {
  return engine.listAttempts(id, null, 100);
}

const inShort = (attempts: readonly TaskAttempt[]): unknown[] =>
  attempts.map(({ attempt, outcome, reason }) => [attempt, outcome, reason]);

test('a task that succeeds at once has one attempt and no row for it', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench);
  assert.deepEqual(await attemptsOf(bench, id), []);
  const claimed_at = bench.clock.now();
  const [task] = await leased(bench);
  const open = {
    ...{ attempt: 1, claimed_by: 'pull', target: null, target_status: null, claimed_at },
    reason: null,
    exit_code: null,
  };
  assert.deepEqual(await attemptsOf(bench, id), [{ ...open, started_at: claimed_at, ended_at: null, outcome: null }]);
  await bench.clock.advance(2_000);
  await succeed(bench.engine, [task!]);
  const ended = { ...open, started_at: claimed_at, ended_at: claimed_at + 2_000, outcome: 'succeeded' };
  assert.deepEqual(await attemptsOf(bench, id), [ended]);
  assert.equal(await kept(bench), 0);
});

test('the reasons of failed attempts stay when later ones run', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench, { retry: RETRY });
  for (const reason of ['the first', 'the second']) {
    const [task] = await leased(bench);
    await bench.engine.report([{ task_id: id, attempt: task!.attempt, outcome: 'failed', reason }]);
    await bench.clock.advance(1_001);
    await sweepAll(bench);
  }
  await leased(bench);
  assert.deepEqual(inShort(await attemptsOf(bench, id)), [
    [3, null, null],
    [2, 'failed', 'the second'],
    [1, 'failed', 'the first'],
  ]);
  assert.deepEqual(inShort(await bench.engine.listAttempts(id, 3, 1)), [[2, 'failed', 'the second']]);
  assert.deepEqual(
    (await bench.engine.explain(id))!.ended_attempts.map(({ attempt }) => attempt),
    [2, 1],
  );
});

test('an attempt whose worker was lost, and one that its worker returned', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench);
  await leased(bench);
  await bench.clock.advance(LEASE_MS + 1);
  await sweepAll(bench);
  const [second] = await leased(bench);
  await bench.engine.release([{ task_id: id, attempt: second!.attempt }]);
  const [third] = await leased(bench);
  await succeed(bench.engine, [third!]);
  assert.deepEqual(inShort(await attemptsOf(bench, id)), [
    [3, 'succeeded', null],
    [2, 'released', 'its worker returned it'],
    [1, 'lost', 'its worker sent no heartbeat'],
  ]);
  assert.equal(await kept(bench), 2);
});

test('a start that no worker took from its queue is undelivered', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench, { kind: 'queued' });
  await bench.engine.workersSeen([{ worker: 'w', kinds: ['queued'], concurrency: 5 }]);
  await bench.engine.dispatch('manager', 10);
  assert.equal((await attemptsOf(bench, id))[0]!.claimed_by, 'queue of manager');
  await bench.clock.advance(16 * 24 * HOUR_MS);
  await sweepAll(bench);
  assert.deepEqual(inShort(await attemptsOf(bench, id)), [
    [1, 'undelivered', 'no worker took its message from the queue'],
  ]);
});

test('a claim that was put back is no attempt', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench);
  const [task] = await leased(bench);
  await putBackAttempts(bench.database, [{ task_id: id, attempt: task!.attempt }], null);
  assert.deepEqual(await attemptsOf(bench, id), []);
});

test('canceled, timed out and retried by hand: each attempt keeps its own outcome', async () => {
  const bench = await leaseBench();
  const id = await submitOne(bench, { timeout_secs: 10 });
  const [first] = await leased(bench);
  await bench.engine.heartbeat([beat(first!)]);
  await bench.clock.advance(10_001);
  await sweepAll(bench);
  assert.equal((await bench.engine.getTask(id))!.state, 'timed_out');
  await bench.engine.retry([id]);
  await leased(bench);
  await bench.engine.cancel([id]);
  await bench.engine.retry([id]);
  const outcomes = async (): Promise<unknown[]> =>
    (await attemptsOf(bench, id)).map(({ attempt, outcome }) => [attempt, outcome]);
  assert.deepEqual(await outcomes(), [
    [2, 'canceled'],
    [1, 'timed_out'],
  ]);
  const [third] = await leased(bench);
  await succeed(bench.engine, [third!]);
  assert.deepEqual(await outcomes(), [
    [3, 'succeeded'],
    [2, 'canceled'],
    [1, 'timed_out'],
  ]);

  const before = await attemptsOf(bench, id);
  await bench.clock.advance(HOUR_MS + 1);
  assert.equal((await bench.engine.retain(100)).archived, 1);
  assert.equal(await kept(bench), 0);
  assert.deepEqual(await attemptsOf(bench, id), before);
  await bench.clock.advance(30 * 24 * HOUR_MS);
  assert.equal((await bench.engine.retain(100)).deleted, 1);
  assert.deepEqual(await attemptsOf(bench, id), []);
});

test('an attempt that a webhook started names its target and the status of the response, also in the archive', async () => {
  const bench = await leaseBench();
  const start = { trigger: 'start' as const, params: { url: 'http://127.0.0.1:9/run?key=1', verb: 'Post' as const } };
  const id = await submitOne(bench, { actions: [start], retry: RETRY });
  const deliver = async (status: number): Promise<void> => {
    assert.equal(await bench.engine.claimForDelivery('server', 10), 1);
    const terms = { limit: 10, limit_per_origin: 10, saturated_origins: [], lease_ms: 30_000 };
    const [delivery] = await bench.engine.claimDeliveries({ holder: 'server', ...terms });
    const { id: delivery_id, tries } = delivery!;
    const outcome = status === 200 ? 'delivered' : 'dead';
    await bench.engine.settleDeliveries([{ id: delivery_id, tries, outcome, status, error: `HTTP ${status}` }]);
  };
  await deliver(503);
  await bench.clock.advance(1_001);
  await sweepAll(bench);
  await deliver(200);
  await bench.engine.report([{ task_id: id, attempt: 2, outcome: 'succeeded' }]);
  const targets = async (): Promise<unknown[]> =>
    (await attemptsOf(bench, id)).map(({ outcome, target, target_status }) => [outcome, target, target_status]);
  const expected = [
    ['succeeded', 'http://127.0.0.1:9', 200],
    ['failed', 'http://127.0.0.1:9', 503],
  ];
  assert.deepEqual(await targets(), expected);
  await bench.clock.advance(HOUR_MS + 1);
  assert.equal((await bench.engine.retain(100)).archived, 1);
  assert.deepEqual(await targets(), expected);
});
