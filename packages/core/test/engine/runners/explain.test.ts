import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';

import type { Explanation } from '../../../src/engine/explanation.ts';
import { claimKind, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import {
  endRunner,
  grant,
  LARGE,
  needy,
  newRunnerBench,
  pass,
  type RunnerBench,
} from '@heddle/test-support/engine/runners/fixture';

describe('why a task that needs a runner is not running', { concurrency: false }, () => {
  let bench: RunnerBench;
  before(async () => {
    bench = await newRunnerBench();
  });

  const explained = async (id: string): Promise<Explanation> => (await bench.engine.explain(id))!;

  async function submit(extra: Parameters<typeof needy>[0] = {}): Promise<string> {
    return (await submitTasks(bench.engine, [needy(extra)])).tasks[0]!.id;
  }

  test('is explained from the request to the runner', async () => {
    const first = await submit();
    const second = await submit({ requirements: { ...LARGE, count: 2, cpu: 2 } });
    assert.match((await explained(first)).summary, /a manager will request from the pool shortly\. If this persists/);
    await pass(bench);
    assert.equal(
      (await explained(first)).summary,
      'It waits for a runner of the class large (on-demand): it is next, none is being launched. `heddle pool status` shows what holds launches back.',
    );
    await bench.rows(
      `update runner_request set exhaustion = 0, reason = 'there are no m7i.large now' where task_id = $1`,
      [second],
    );
    await bench.rows(
      `insert into runner (id, provider, shape_id, state, threshold, created_at, state_since)
        select gen_random_uuid(), 'test', q.shape_id, 0, '9999-12-31', now(), now() from runner_request q where q.task_id = $1`,
      [second],
    );
    const waits = await explained(second);
    assert.equal(
      waits.summary,
      'It waits for 2 runners of the class large (on-demand, at least 2 processors): 1 request is ahead, ' +
        'no runner of the class is idle, 1 is being launched; the last launch failed: there are no m7i.large now.',
    );
    const [obstacle] = waits.obstacles;
    assert.ok(obstacle?.type === 'runner');
    assert.deepEqual(
      [
        obstacle.stage,
        obstacle.ahead,
        obstacle.exhaustion,
        obstacle.launching,
        obstacle.last_failure,
        obstacle.runners,
      ],
      ['waiting', 1, 'global', 1, 'there are no m7i.large now', []],
    );
    const [runner] = await grant(bench, first, false);
    const granted = await explained(first);
    assert.equal(granted.summary, `Runner ${runner!.number} was claimed for it and is about to start.`);
    assert.ok(granted.obstacles[0]?.type === 'runner');
    assert.deepEqual(granted.obstacles[0].runners, [{ ...runner, running: false }]);
    await endRunner(bench, runner!, 'unconfirmed');
    assert.match((await explained(first)).summary, /^It waits for a runner/);
  });

  test('behind a concurrency rule, the rule is explained first', async () => {
    const rule = { type: 'concurrency' as const, matcher: { kind: 'ruled', fields: [] }, max: 1 };
    await submitTasks(bench.engine, [newTask({ kind: 'ruled' })]);
    // Tasks of the kind are counted from its first rule on.
    const id = await submit({ kind: 'ruled', rules: [rule] });
    assert.equal((await claimKind(bench.engine, 'ruled')).length, 1);
    await pass(bench);
    const { obstacles } = await explained(id);
    assert.deepEqual(
      obstacles.map(({ type }) => type),
      ['rule', 'runner'],
    );
    assert.ok(obstacles[1]?.type === 'runner' && obstacles[1].stage === 'blocked');
  });

  test('after a task that waits for its runner under the same rule', async () => {
    const rule = { type: 'concurrency' as const, matcher: { kind: 'queue', fields: [] }, max: 1 };
    await submit({ kind: 'queue', rules: [rule] });
    const id = await submit({ kind: 'queue', rules: [rule] });
    await pass(bench);
    assert.match((await explained(id)).summary, /but a concurrency rule is at its limit/);
  });

  test('paused, delayed or behind a parent, runners are not mentioned', async () => {
    const paused = await submit();
    await bench.engine.pause([paused]);
    const delayed = await submit({ delay_ms: 60_000 });
    const { tasks } = await submitTasks(bench.engine, [
      newTask({ kind: 'parent' }),
      needy({ dependencies: [{ index: 0, requires_success: true }] }),
    ]);
    for (const [id, type] of [
      [paused, 'paused'],
      [delayed, 'delayed'],
      [tasks[1]!.id, 'parents'],
    ] as const) {
      assert.deepEqual(
        (await explained(id)).obstacles.map((obstacle) => obstacle.type),
        [type],
      );
    }
  });
});
