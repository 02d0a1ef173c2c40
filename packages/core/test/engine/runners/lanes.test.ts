import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';

import { claimKind, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import {
  addRunner,
  claimAt,
  endRunner,
  grant,
  LARGE,
  needy,
  newRunnerBench,
  pass,
  releaseOver,
  releaseRunner,
  type RunnerBench,
} from '@heddle/test-support/engine/runners/fixture';

/** Lane of tasks with a runner request. */
const ASKED_LANE = -2_147_483_647;

describe('tasks that need runners', { concurrency: false }, () => {
  let bench: RunnerBench;
  before(async () => {
    bench = await newRunnerBench();
  });
  beforeEach(async () => {
    // Every test starts with empty lanes.
    await bench.rows('delete from ready where lane < 0');
    await bench.rows('delete from blocked where lane < 0');
    await bench.rows('update runner_request set state = 2, ended_at = now() where state < 2');
    bench.asked.length = 0;
  });

  const lanesOf = async (id: string): Promise<number[]> =>
    (await bench.rows<{ lane: number }>('select lane from ready where task_id = $1 order by lane', [id])).map(
      ({ lane }) => lane,
    );
  const stateOf = async (id: string): Promise<string | undefined> => (await bench.engine.getTask(id))?.state;

  async function submitOne(extra: Parameters<typeof needy>[0] = {}): Promise<string> {
    const { tasks } = await submitTasks(bench.engine, [needy(extra)]);
    return tasks[0]!.id;
  }

  test('cannot be claimed from the lane of their kind, nor from the lane of tasks without a runner', async () => {
    const id = await submitOne();
    assert.deepEqual(await lanesOf(id), [-1]);
    assert.deepEqual(await claimKind(bench.engine), []);
    await assert.rejects(
      bench.engine.claim({ lanes: ['runners'], limit: 1, holder: 'test' }),
      /have no runner, and are never claimed/,
    );
    for (const lane of ['runner:1', 'runner:', 'runner:x', 'runner:-3', 'runner:2.5', 'runner:2147483647', 'pool']) {
      await assert.rejects(
        bench.engine.claim({ lanes: [lane], limit: 1, holder: 'test' }),
        /lane must be "webhook"/,
        lane,
      );
    }
    assert.equal(await stateOf(id), 'pending');
  });

  test('get one request, run on their runner, and receive the list of their runners', async () => {
    const id = await submitOne({ requirements: { ...LARGE, count: 2 }, metadata: { tenant: 'acme' } });
    await pass(bench);
    await pass(bench);
    assert.deepEqual(
      bench.asked.map(({ task_id, attempt, tenant, count, resource_class }) => ({
        task_id,
        attempt,
        tenant,
        count,
        resource_class,
      })),
      [{ task_id: id, attempt: 1, tenant: 'acme', count: 2, resource_class: 'large' }],
    );
    const [first, second] = await grant(bench, id);
    assert.deepEqual(await lanesOf(id), [-first!.number]);
    assert.deepEqual(await claimAt(bench.engine, second!), []);
    const [task] = await claimAt(bench.engine, first!);
    assert.deepEqual(
      [task?.id, task?.runners],
      [
        id,
        [first!, second!].map(({ id: runner, number }) => ({
          id: runner,
          number,
          instance_type: 'local.large',
          address: '10.0.0.1',
        })),
      ],
    );
    await succeed(bench.engine, [task!]);
    await releaseRunner(bench, first!);
    await pass(bench);
    assert.deepEqual([await stateOf(id), bench.asked.length, await lanesOf(id)], ['succeeded', 1, []]);
  });

  test('report and claim in one call', async () => {
    const [first, second] = [await submitOne(), await submitOne()];
    await pass(bench);
    const [runner] = await grant(bench, first);
    const [other] = await grant(bench, second);
    const [task] = await claimAt(bench.engine, runner!);
    const { outcomes, claimed } = await bench.engine.reportAndClaim(
      [{ task_id: first, attempt: task!.attempt, outcome: 'succeeded' }],
      { lanes: [`runner:${other!.number}`], limit: 1, holder: 'test' },
    );
    assert.deepEqual([outcomes[0]!.result, claimed[0]?.id, claimed[0]?.runners?.length], ['applied', second, 1]);
  });

  test('wake the manager, and workers that wait in the lane of a runner', async () => {
    let woken = 0;
    const unsubscribe = bench.engine.onReady(['runners'], () => (woken += 1));
    await new Promise((resolve) => setImmediate(resolve));
    const before = woken;
    await submitOne();
    assert.ok(woken > before);
    unsubscribe();
  });

  test('a failure with a retry left requests a runner for the next attempt', async () => {
    const id = await submitOne({ retry: { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 } });
    await pass(bench);
    const [runner] = await grant(bench, id);
    const [task] = await claimAt(bench.engine, runner!);
    await bench.engine.report([{ task_id: id, attempt: task!.attempt, outcome: 'failed', reason: 'for now' }]);
    await bench.engine.sweep();
    assert.deepEqual([await stateOf(id), await lanesOf(id)], ['pending', [-1]]);
    await releaseRunner(bench, runner!);
    await pass(bench);
    assert.deepEqual(
      bench.asked.map(({ attempt }) => attempt),
      [1, 2],
    );
    assert.equal(new Set(bench.asked.map(({ id: request }) => request)).size, 2);
  });

  test('a task retried after its failure requests a runner again', async () => {
    const id = await submitOne();
    await pass(bench);
    const [runner] = await grant(bench, id);
    const [task] = await claimAt(bench.engine, runner!);
    await bench.engine.report([{ task_id: id, attempt: task!.attempt, outcome: 'failed', reason: 'bad' }]);
    await releaseRunner(bench, runner!);
    await bench.engine.retry([id]);
    assert.deepEqual(await lanesOf(id), [-1]);
    await pass(bench);
    assert.deepEqual(bench.asked.at(-1)!.attempt, 2);
  });

  for (const verb of ['cancel', 'pause'] as const) {
    test(`${verb} while it waits: its request ends, and its ready row is deleted`, async () => {
      const id = await submitOne();
      await pass(bench);
      await bench.engine[verb]([id]);
      await releaseOver(bench);
      await pass(bench);
      assert.deepEqual(await lanesOf(id), []);
      assert.deepEqual(await bench.rows('select 1 from runner_request where task_id = $1 and state < 2', [id]), []);
      if (verb === 'cancel') return;
      await bench.engine.resume([id]);
      assert.deepEqual(await lanesOf(id), [-1]);
      await pass(bench);
      assert.equal(bench.asked.length, 2);
      const [runner] = await grant(bench, id);
      assert.equal((await claimAt(bench.engine, runner!)).length, 1);
    });

    test(`${verb} while it holds a runner that has not started: the runner is released`, async () => {
      const id = await submitOne();
      await pass(bench);
      const [runner] = await grant(bench, id);
      await bench.engine[verb]([id]);
      assert.deepEqual(await claimAt(bench.engine, runner!), []);
      await releaseOver(bench);
      const [row] = await bench.rows<{ state: number }>('select state from runner where id = $1', [runner!.id]);
      assert.equal(row!.state, 1);
    });
  }

  test('paused and resumed while it waits, before a pass: its rows become one again, and it runs once', async () => {
    const id = await submitOne();
    await pass(bench);
    assert.deepEqual(await lanesOf(id), [ASKED_LANE]);
    await bench.engine.pause([id]);
    await bench.engine.resume([id]);
    assert.deepEqual(await lanesOf(id), [ASKED_LANE, -1]);
    await pass(bench);
    assert.deepEqual([await lanesOf(id), bench.asked.length], [[ASKED_LANE], 1]);
    await bench.engine.pause([id]);
    await bench.engine.resume([id]);
    const [runner] = await grant(bench, id);
    assert.deepEqual(await lanesOf(id), [-runner!.number]);
    assert.equal((await claimAt(bench.engine, runner!)).length, 1);
  });

  test('a task set aside for a deleted request requests a runner again', async () => {
    const id = await submitOne();
    await pass(bench);
    await bench.rows('delete from runner_request where task_id = $1', [id]);
    await bench.store.forget(0, 1_000);
    assert.deepEqual(await lanesOf(id), [-1]);
    await pass(bench);
    assert.equal(bench.asked.length, 2);
    const [runner] = await grant(bench, id);
    assert.equal((await claimAt(bench.engine, runner!)).length, 1);
  });

  test('paused and resumed while it has a runner: the second ready row is harmless', async () => {
    const id = await submitOne();
    await pass(bench);
    const [runner] = await grant(bench, id);
    await bench.engine.pause([id]);
    await bench.engine.resume([id]);
    assert.deepEqual(await lanesOf(id), [-runner!.number, -1]);
    await endRunner(bench, runner!, 'lost');
    assert.deepEqual(await lanesOf(id), [-1]);
    await releaseOver(bench);
    await pass(bench);
    const [next] = await grant(bench, id);
    const [task] = await claimAt(bench.engine, next!);
    assert.deepEqual([task?.id, task?.attempt], [id, 1]);
  });

  test('the wait for a runner does not count towards a timeout', async () => {
    const id = await submitOne({ timeout_secs: 1, deadline_basis: 'start' });
    await pass(bench);
    await bench.rows(
      `update task set created_at = created_at - interval '1 day', updated_at = updated_at - interval '1 day'
      where id = $1`,
      [id],
    );
    await bench.engine.sweep();
    const task = await bench.engine.getTask(id);
    assert.deepEqual([task?.state, task?.deadline_at], ['pending', null]);
    const [runner] = await grant(bench, id);
    const [claimed] = await claimAt(bench.engine, runner!);
    assert.ok((await bench.engine.getTask(id))!.deadline_at! > Date.now() - 60_000);
    await bench.rows(`update task set deadline_at = now() - interval '1 s' where id = $1`, [id]);
    await bench.rows(`update lease set check_at = now() - interval '1 s'`);
    await bench.engine.sweep();
    assert.equal(await stateOf(claimed!.id), 'timed_out');
  });

  test('an attempt whose runner is lost is requeued for another one', async () => {
    const id = await submitOne();
    await pass(bench);
    const [runner] = await grant(bench, id);
    const [task] = await claimAt(bench.engine, runner!);
    await endRunner(bench, runner!, 'lost');
    assert.equal(await stateOf(id), 'running');
    await pass(bench);
    assert.deepEqual([await stateOf(id), bench.asked.map(({ attempt }) => attempt)], ['pending', [1, 2]]);
    const [late] = await bench.engine.report([{ task_id: id, attempt: task!.attempt, outcome: 'succeeded' }]);
    assert.equal(late!.result, 'not_started');
    const [next] = await grant(bench, id);
    const [again] = await claimAt(bench.engine, next!);
    assert.equal(again?.attempt, 2);
    await succeed(bench.engine, [again]);
    await pass(bench);
    assert.equal(await stateOf(id), 'succeeded');
  });

  test('a runner lost before its task started: the request waits again, and is granted again', async () => {
    const id = await submitOne();
    await pass(bench);
    const [runner] = await grant(bench, id);
    await endRunner(bench, runner!, 'unconfirmed');
    assert.deepEqual([await stateOf(id), await lanesOf(id)], ['pending', [-1]]);
    await pass(bench);
    assert.equal(bench.asked.length, 1);
    const [next] = await grant(bench, id);
    assert.equal((await claimAt(bench.engine, next!))[0]?.attempt, 1);
  });

  test('a task that loses every runner fails in the end', async () => {
    const id = await submitOne();
    await bench.rows('update task set attempt = 9 where id = $1', [id]);
    await pass(bench);
    const [runner] = await grant(bench, id);
    await claimAt(bench.engine, runner!);
    await endRunner(bench, runner!, 'lost');
    await pass(bench);
    const task = await bench.engine.getTask(id);
    assert.equal(task?.state, 'failed');
    assert.match(task.failure_reason!, /its runner was lost in attempt 10 \(lost\), and no attempts are left/);
  });

  test('an interrupted spot runner: the task is requeued at once, for an on-demand runner', async () => {
    const id = await submitOne({ requirements: { ...LARGE, usage_class: 'spot' } });
    await pass(bench);
    const [runner] = await grant(bench, id);
    await claimAt(bench.engine, runner!);
    await bench.store.drain([runner!.id], 'interrupted');
    await pass(bench);
    await releaseOver(bench);
    await pass(bench);
    assert.deepEqual(
      bench.asked.map(({ attempt, usage_class }) => [attempt, usage_class]),
      [
        [1, 'spot'],
        [2, 'on-demand'],
      ],
    );
    assert.equal((await bench.engine.getTask(id))?.requirements?.usage_class, 'spot');
    const [row] = await bench.rows<{ state: number; reason: string }>(
      'select state, reason from runner where id = $1',
      [runner!.id],
    );
    assert.deepEqual(row, { state: 4, reason: 'interrupted' });
  });

  test('a spot runner whose agent hands its task back before a pass: the same', async () => {
    const id = await submitOne({ requirements: { ...LARGE, usage_class: 'spot' } });
    await pass(bench);
    const [runner] = await grant(bench, id);
    const [task] = await claimAt(bench.engine, runner!);
    await bench.store.drain([runner!.id], 'interrupted: terminate at noon');
    await bench.engine.release([{ task_id: id, attempt: task!.attempt }]);
    assert.ok(await bench.store.release(runner!.id, 1));
    await pass(bench);
    assert.deepEqual(
      bench.asked.map(({ attempt, usage_class }) => [attempt, usage_class]),
      [
        [1, 'spot'],
        [2, 'on-demand'],
      ],
    );
  });

  test('a canceled attempt on a lost runner releases its slot at once', async () => {
    const rule = { type: 'concurrency' as const, matcher: { kind: 'slotted', fields: [] }, max: 1 };
    const id = await submitOne({ kind: 'slotted', rules: [rule] });
    await pass(bench);
    const [runner] = await grant(bench, id);
    assert.equal((await claimAt(bench.engine, runner!)).length, 1);
    await bench.engine.cancel([id]);
    await endRunner(bench, runner!, 'lost');
    await pass(bench);
    const [{ used } = { used: -1 }] = await bench.rows<{ used: number }>(
      `select s.used from slot s join shape h on h.id = s.shape_id join kind k on k.id = h.kind_id where k.name = 'slotted'`,
    );
    assert.equal(used, 0);
  });

  test("ready rows in the lane of another task's runner wait for another one", async () => {
    const id = await submitOne();
    const stranger = await addRunner(bench);
    await bench.rows('update ready set lane = $2 where task_id = $1', [id, -stranger.number]);
    await pass(bench);
    assert.deepEqual([await lanesOf(id), bench.asked.length], [[ASKED_LANE], 1]);
  });

  test('with a dedupe strategy, no duplicate is created', async () => {
    const dedupe = [{ kind: 'same', states: ['pending' as const], fields: ['n'] }];
    const [first, second] = [
      needy({ kind: 'same', metadata: { n: 1 }, dedupe }),
      needy({ kind: 'same', metadata: { n: 1 }, dedupe }),
    ];
    const one = await submitTasks(bench.engine, [first]);
    const two = await submitTasks(bench.engine, [second]);
    assert.equal(two.tasks[0]!.deduplicated_to, one.tasks[0]!.id);
    await pass(bench);
    assert.equal(bench.asked.length, 1);
  });

  test('with a dependency, a runner is requested once it is satisfied', async () => {
    const { tasks } = await submitTasks(bench.engine, [
      newTask({ kind: 'parent' }),
      needy({ dependencies: [{ index: 0, requires_success: true }] }),
    ]);
    await pass(bench);
    assert.deepEqual(bench.asked, []);
    await succeed(bench.engine, await claimKind(bench.engine, 'parent'));
    await pass(bench);
    assert.deepEqual(
      bench.asked.map(({ task_id }) => task_id),
      [tasks[1]!.id],
    );
  });
});
