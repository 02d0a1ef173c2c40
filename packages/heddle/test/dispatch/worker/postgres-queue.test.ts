import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { defineKind, task } from '@heddle/kit';
import { PostgresQueue } from '@heddle/core/internal/queue/postgres';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { Held, startTasks, Told, workerOf } from '../../support/dispatch/worker/harness.ts';

describe('workers on queues in PostgreSQL', () => {
  let queue: PostgresQueue;

  before(async () => {
    const { database } = await createTestDatabase();
    queue = new PostgresQueue({ database, clock: systemClock, log: silentLogger });
  });

  after(() => queue.close());

  it('two of them run each task once, within their concurrency', async () => {
    const told = new Told(queue);
    const ran = new Map<string, number>();
    const open = [0, 0];
    const most = [0, 0];
    const workers = [0, 1].map((place) => {
      const run = async (_: unknown, { task: { id } }: { task: { id: string } }): Promise<void> => {
        ran.set(id, (ran.get(id) ?? 0) + 1);
        most[place] = Math.max(most[place]!, (open[place] = open[place]! + 1));
        await new Promise((resolve) => setImmediate(resolve));
        open[place] = open[place] - 1;
      };
      return workerOf(queue, [defineKind({ name: 'both', run })], { worker: `worker ${place}`, concurrency: 4 });
    });
    const tasks = await startTasks(queue, 'both', 200);
    for (const worker of workers) worker.start();
    await told.untilEnded(200);
    await Promise.all(workers.map((worker) => worker.stop(1000)));
    await told.read();
    assert.equal(told.ends.length, 200);
    assert.deepEqual(new Set(ran.keys()), new Set(tasks.map(({ id }) => id)));
    assert.ok([...ran.values()].every((times) => times === 1));
    assert.ok(Math.max(...most) <= 4, String(most));
    assert.deepEqual(await queue.depth('worker:both'), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
  });

  it('tasks released at a stop are run by another at once; unreadable messages are dead-lettered', async () => {
    const told = new Told(queue);
    const held = new Held();
    const first = workerOf(queue, [defineKind({ name: 'passed', run: held.run })]);
    first.start();
    await queue.send('worker:passed', [{ body: '{"type":"StartTask"}' }]);
    const [passed] = await startTasks(queue, 'passed');
    await held.untilBegun(1);
    await first.stop(0);
    const second = workerOf(queue, [defineKind({ name: 'passed', run: () => 'second' })]);
    second.start();
    const [end] = await told.untilEnded(1);
    assert.deepEqual([end!.task_id, end!.attempt, end!.data], [passed!.id, 1, 'second']);
    await second.stop(1000);
    const [letter] = await queue.listDead('worker:passed', { offset: 0, limit: 10 });
    assert.match(letter!.reason, /root_container_id: is required/);
    held.runs[0]!.succeed('too late');
    await told.read();
    assert.equal(told.ends.length, 1);
  });

  it('a generator of thousands sends each node once, and heartbeats continue meanwhile', async () => {
    const told = new Told(queue);
    const count = 4000;
    const kind = defineKind({
      name: 'Thousands',
      *run() {
        for (let n = 0; n < count; n += 1) yield task('part', { n });
      },
    });
    const worker = workerOf(queue, [kind, defineKind({ name: 'beside', run: () => 1 })]);
    worker.start();
    const [generator] = await startTasks(queue, 'Thousands');
    await eventually(() => worker.counts().running === 1, 'the generator runs');
    const [beside] = await startTasks(queue, 'beside');
    const ends = await told.untilEnded(2);
    await worker.stop(1000);
    await told.read();
    assert.deepEqual(new Set(ends.map(({ task_id }) => task_id)), new Set([generator!.id, beside!.id]));
    assert.equal(ends.find(({ task_id }) => task_id === generator!.id)!.expected_task_count, count);
    assert.equal(told.nodes.length, count);
    assert.equal(new Set(told.nodes.map(({ task: node }) => node.type === 'task' && node.task.id)).size, count);
  });
});
