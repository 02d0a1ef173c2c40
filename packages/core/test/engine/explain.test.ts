import assert from 'node:assert/strict';
import { test } from 'node:test';

import { VirtualClock } from '@heddle/base/clock';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';

test('a task says what it waits for: parents, then a rule with its holders, a pause, a delay, its turn, a worker', async () => {
  const clock = new VirtualClock();
  const { engine } = await newBench({ clock });
  const rules = [{ type: 'concurrency' as const, matcher: { kind: 'work', fields: ['tenant'] }, max: 1 }];
  const metadata = { tenant: 'a' };
  const { tasks } = await submitTasks(engine, [
    newTask({ name: 'holder', metadata, rules }),
    newTask({ name: 'blocked', metadata, rules }),
    newTask({ name: 'child', dependencies: [{ index: 0, requires_success: true }] }),
    newTask({ name: 'late', kind: 'later', delay_ms: 60_000 }),
    newTask({ name: 'lonely', kind: 'nobody' }),
  ]);
  const explained = async (index: number) => (await engine.explain(tasks[index]!.id))!;
  const [holder] = await claimKind(engine);
  assert.equal(holder?.name, 'holder');

  assert.match(
    (await explained(0)).summary,
    /^It is running: attempt 1, taken by \S+, last heartbeat at 2023-\S+Z; it is marked lost unless it sends a heartbeat by 2023-\S+Z\. Its timeout of 3600 s counts from the last activity\.$/,
  );
  const blocked = await explained(1);
  assert.equal(blocked.summary, 'A rule lets 1 task of kind "work" run at once, and 1 does.');
  assert.deepEqual(blocked.obstacles, [
    {
      type: 'rule',
      rule: 'concurrency',
      kind: 'work',
      fields: { tenant: 'a' },
      max: 1,
      used: 1,
      holders: [{ id: holder.id, name: 'holder', state: 'running' }],
    },
  ]);
  const child = await explained(2);
  assert.equal(child.summary, 'It waits for a task to end: "holder" (running).');
  assert.deepEqual(child.obstacles[0], {
    type: 'parents',
    total: 1,
    parents: [{ id: holder.id, name: 'holder', state: 'running', requires_success: true }],
  });
  assert.match((await explained(3)).summary, /^It does not start before 2023-11-14T/);
  assert.match((await explained(4)).summary, /^No worker has ever requested tasks of the kind "nobody"/);

  await engine.pause([tasks[2]!.id]);
  assert.equal((await explained(2)).obstacles[0]?.type, 'paused');
  await engine.resume([tasks[2]!.id]);
  await succeed(engine, [holder]);
  assert.match((await explained(2)).summary, /^It is (next in its lane|ready)/);
  await clock.advance(120_000);
  assert.match((await explained(2)).summary, /^No worker has requested tasks of the kind "work" since 2023/);
  assert.match((await explained(0)).summary, /^It has ended \(succeeded\)/);
  assert.equal(await engine.explain('00000000-0000-7000-8000-000000000000'), null);
});

test('a task whose start is being delivered says how often that was tried, and what was answered', async () => {
  const { engine } = await newBench();
  const action = { trigger: 'start' as const, params: { url: 'http://127.0.0.1:9/x', verb: 'Post' as const } };
  const { tasks } = await submitTasks(engine, [newTask({ actions: [action] })]);
  const summary = async () => (await engine.explain(tasks[0]!.id))!.summary;
  assert.match(await summary(), /^No worker has ever requested tasks that start by a webhook/);
  await engine.claimForDelivery('test', 1);
  assert.equal(await summary(), 'Its start webhook is about to be called.');
  const request = { holder: 'test', limit: 1, limit_per_origin: 1, saturated_origins: [], lease_ms: 1_000 };
  const [delivery] = await engine.claimDeliveries(request);
  const result = { id: delivery!.id, tries: 1, status: 503, error: 'HTTP 503' };
  await engine.settleDeliveries([{ ...result, outcome: 'retry', delay_ms: 60_000 }]);
  assert.equal(await summary(), 'Its start webhook was tried 1 time (HTTP 503) and will be retried.');
});
