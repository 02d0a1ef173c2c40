import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { DeadlineBasis } from '@heddle/base/vocabulary/task-fields';
import { encodeNode, encodeStartTask } from '@heddle/core/domain/parse/encode';
import { parseStartTask } from '@heddle/core/domain/parse/message';
import { buildTask } from '../../src/http/submit/build-task.ts';
import { defineKind, task } from '@heddle/kit';
import { VirtualClock } from '@heddle/base/clock';
import { newId } from '@heddle/base/random';
import { claimKind, newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { parsedNode } from '@heddle/test-support/engine/flow/tree';

describe('the basis of a timeout', () => {
  for (const [basis, state] of [
    ['start', 'timed_out'],
    ['activity', 'running'],
  ] as const) {
    it(`${basis}: heartbeats ${basis === 'start' ? 'do not extend it' : 'extend it'}, and explain says which it is`, async () => {
      const clock = new VirtualClock();
      const { engine } = await newBench({ clock });
      const { tasks } = await submitTasks(engine, [newTask({ timeout_secs: 3, deadline_basis: basis })]);
      const [claimed] = await claimKind(engine);
      const clockNamed = basis === 'start' ? /counts from its start\.$/ : /counts from the last activity\.$/;
      assert.match((await engine.explain(tasks[0]!.id))!.summary, clockNamed);
      for (let second = 0; second < 5; second += 1) {
        await clock.advance(1_000);
        await engine.heartbeat([{ task_id: claimed!.id, attempt: 1, new_success: 1, new_failures: 0 }]);
        await engine.sweep();
      }
      const ended = await engine.getTask(claimed!.id);
      assert.equal(ended?.state, state);
      if (state === 'timed_out') assert.equal(ended.failure_reason, 'it ran for longer than 3 s (its timeout)');
    });
  }

  it('is sent to workers that read queues', async () => {
    const { engine } = await newBench({ queue: { sendIn: () => Promise.resolve() } });
    await submitTasks(engine, [newTask({ deadline_basis: 'start' }), newTask({ deadline_basis: 'activity' })]);
    await engine.workersSeen([{ worker: 'w', kinds: ['work'], concurrency: 2 }]);
    const started = (await engine.dispatch('manager', 10)).map(encodeStartTask).map(parseStartTask);
    assert.deepEqual(
      started.map((message) => message.ok && message.message.task.timeout_basis),
      ['start', undefined],
    );
  });

  it('is activity on every way in, unless it is given', () => {
    const kind = (timeout_basis?: DeadlineBasis) =>
      defineKind({ name: 'Scan', run: () => null, ...(timeout_basis === undefined ? {} : { timeout_basis }) });
    for (const given of [undefined, 'activity', 'start'] as const) {
      const member = given === undefined ? {} : { timeout_basis: given };
      const expected = given ?? 'activity';
      const dto = { name: 'a', kind: 'work', ...member };
      assert.equal(buildTask(dto, newId(), new Map() as never, []).deadline_basis, expected);
      const node = parsedNode({ kind: 'work', ...member });
      assert.ok(node.type === 'task');
      assert.equal(node.task.deadline_basis, expected);
      // A queue message carries what the builder and the API stored.
      assert.equal(encodeNode(node)['timeout_basis'], given === 'start' ? 'start' : undefined);
      assert.equal(task(kind(given), {}).options.timeout_basis, given);
      assert.equal(task(kind(given), {}, { timeout_basis: 'start' }).options.timeout_basis, 'start');
    }
    assert.throws(() => defineKind({ name: 'Scan', run: () => null, timeout_basis: 'end' as never }), /timeout_basis/);
  });
});
