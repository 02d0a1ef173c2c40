import assert from 'node:assert/strict';
import { test } from 'node:test';

import { setGauges } from '../../src/app/gauges.ts';
import { createJobs } from '@heddle/core/engine/schedule/jobs';
import { feed, MANAGER_QUEUE, newBench, run, workerSeen } from '@heddle/test-support/engine/manager/fixture';

test('messages of the manager and of each kind with workers are counted by state, including dead letters', async () => {
  const { database, engine, queue, manager, metrics } = await newBench();
  await feed(manager, workerSeen('render'));
  await queue.send(MANAGER_QUEUE, [{ body: 'a' }, { body: 'b' }, { body: 'c', delay_ms: 60_000 }]);
  const [taken] = await queue.receive(MANAGER_QUEUE, { max: 1, wait_ms: 0, visibility_ms: 60_000 });
  await queue.deadLetter(MANAGER_QUEUE, [{ receipt: taken!.receipt, reason: 'no JSON' }]);
  await setGauges({ engine, queue, metrics, database });
  const told = (await metrics.registry.metrics())
    .split('\n')
    .filter((line) => line.startsWith('heddle_queue_messages{') && !line.endsWith(' 0'));
  assert.deepEqual(told.sort(), [
    'heddle_queue_messages{queue="manager",state="dead"} 1',
    'heddle_queue_messages{queue="manager",state="delayed"} 1',
    'heddle_queue_messages{queue="manager",state="visible"} 1',
  ]);
  assert.match(await metrics.registry.metrics(), /heddle_queue_messages\{queue="worker:render",state="visible"\} 0/);
});

test('the age of the oldest transaction is a metric', async () => {
  const { database, engine, queue, metrics } = await newBench();
  await database.transaction(
    async (tx) => {
      await tx.query({ name: 'test.look', text: 'select count(*) from ready' });
      await setGauges({ engine, queue, metrics, database });
    },
    { isolation: 'repeatable read' },
  );
  const [, seconds] = /^heddle_oldest_snapshot_seconds (\S+)$/m.exec(await metrics.registry.metrics()) ?? [];
  assert.ok(Number(seconds) > 0, `${seconds} seconds`);
});

test('outcomes of job occurrences are counted', async () => {
  const { database, manager, metrics, jobs: context } = await newBench();
  await createJobs(context).create({
    name: 'often',
    cron: '@hourly',
    time_zone: 'UTC',
    recurrence: null,
    overlap: 'skip',
    catch_up: 'once',
    paused: false,
    workflow: { root: { mode: 'sequential', children: [{ kind: 'nobody' }] } },
  });
  for (const seconds of [2, 1]) {
    await database.query({
      name: `test.make_due_${seconds}`,
      text: `update recon.jobs set next_run_at = now() - interval '${seconds} seconds'`,
    });
    assert.equal((await run(manager)).error, null);
  }
  const told = await metrics.registry.metrics();
  assert.match(told, /heddle_job_occurrences_total\{outcome="started"\} 1/);
  assert.match(told, /heddle_job_occurrences_total\{outcome="skipped"\} 1/);
});
