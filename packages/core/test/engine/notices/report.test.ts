import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { NoticeAction } from '../../../src/domain/notification/notification.ts';
import type { Engine, TaskNotices } from '../../../src/engine/port.ts';
import { claimKind, newBench, newTask, submitTasks } from '@heddle/test-support/engine/fixture';

const hook: NoticeAction = {
  trigger: 'notify',
  channel: 'webhook',
  params: { url: 'https://hooks.example.com/in', verb: 'Post', body: { a: 1 } },
};
const mail: NoticeAction = {
  trigger: 'notify',
  channel: 'email',
  mail: { recipient: 'a@example.com', to: ['a@example.com'], subject: 's', text: 't' },
};
const notices: TaskNotices = { actions: [hook, mail], once_per_workflow: false };

const written = async (engine: Engine): Promise<string[]> => {
  const deliveries = await engine.listDeliveries({ offset: 0, limit: 100 });
  return deliveries.map(({ origin, ordinal }) => `${ordinal} ${origin}`).sort();
};
const BOTH = ['0 https://hooks.example.com', '1 smtp:'];

describe('a report with notices', () => {
  it('writes them with the success, once however often it is repeated', async () => {
    const { engine } = await newBench();
    await submitTasks(engine, [newTask()]);
    const [task] = await claimKind(engine);
    const report = { task_id: task!.id, attempt: task!.attempt, outcome: 'succeeded', result: 1, notices } as const;
    const [first] = await engine.report([report]);
    assert.equal(first!.result, 'applied');
    const [again] = await engine.report([report]);
    assert.equal(again!.result, 'unchanged');
    assert.deepEqual(await written(engine), BOTH);
    assert.equal((await engine.listDeliveries({ task_id: task!.id, offset: 0, limit: 9 })).length, 2);
  });

  it('writes nothing for an ended attempt, nor for a failure', async () => {
    const { engine } = await newBench();
    const retry = { max_attempts: 2, base_ms: 0, factor: 1, max_ms: 0, jitter: 0 };
    await submitTasks(engine, [newTask({ retry })]);
    const [task] = await claimKind(engine);
    const { id: task_id } = task!;
    await engine.report([{ task_id, attempt: 1, outcome: 'failed', notices }]);
    await engine.sweep();
    const [second] = await claimKind(engine);
    assert.equal(second!.attempt, 2);
    const [late] = await engine.report([{ task_id, attempt: 1, outcome: 'succeeded', notices }]);
    assert.equal(late!.result, 'stale_attempt');
    assert.deepEqual(await written(engine), []);
    await engine.report([{ task_id, attempt: 2, outcome: 'succeeded', notices }]);
    const keys = (await engine.listDeliveries({ offset: 0, limit: 9 })).map((each) => each.idempotency_key).sort();
    assert.deepEqual(keys, [`${task_id}:notify:2:attempt-2`, `${task_id}:notify:attempt-2`]);
  });

  it('writes nothing for a task that was canceled meanwhile', async () => {
    const { engine } = await newBench();
    await submitTasks(engine, [newTask()]);
    const [task] = await claimKind(engine);
    await engine.cancel([task!.id]);
    const [late] = await engine.report([{ task_id: task!.id, attempt: 1, outcome: 'succeeded', notices }]);
    assert.equal(late!.result, 'conflict');
    assert.deepEqual(await written(engine), []);
  });

  it('is one with its transaction, and goes along with a claim', async () => {
    const { engine } = await newBench();
    await submitTasks(engine, [newTask(), newTask()]);
    const [task] = await claimKind(engine, 'work', 1);
    const report = { task_id: task!.id, attempt: 1, outcome: 'succeeded', notices } as const;
    const rolledBack = engine.transaction(async (inner) => {
      await inner.report([report]);
      throw new Error('the process dies');
    });
    await assert.rejects(rolledBack, /the process dies/);
    assert.deepEqual(await written(engine), []);
    const { outcomes, claimed } = await engine.reportAndClaim([report], {
      lanes: ['kind:work'],
      limit: 9,
      holder: 't',
    });
    assert.deepEqual([outcomes[0]!.result, claimed.length], ['applied', 1]);
    assert.deepEqual(await written(engine), BOTH);
  });
});
