import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { parseStartTask } from '../../src/domain/parse/message.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { openQueue } from '../../src/queue/open.ts';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import type { Statement } from '../../src/store/database.ts';
import { eventually } from '@heddle/test-support/eventually';
import { createTestDatabase } from '@heddle/test-support/postgres';
import { claimKind, newBench, newTask, submitTasks, succeed } from '@heddle/test-support/engine/fixture';
import {
  beat,
  leaseBench,
  leased,
  LEASE_MS,
  limitOf,
  openLeases,
  sweepAll,
  usedSlots,
  type LeaseBench,
} from '../support/engine/lease-fixture.ts';

const FREEZE: Statement = {
  name: 'test.freeze',
  text: `do $$ begin
    alter table heddle.task set (autovacuum_enabled = false);
    alter table heddle.lease set (autovacuum_enabled = false);
  end $$`,
};
const ANALYZE_TASK: Statement = { name: 'test.analyze_task', text: `analyze heddle.task` };
const ANALYZE_LEASE: Statement = { name: 'test.analyze_lease', text: `analyze heddle.lease` };
const FLUSH: Statement = { name: 'test.flush', text: `select pg_stat_force_next_flush()` };
const READ: Statement = {
  name: 'test.read',
  text: `select coalesce(sum(seq_tup_read), 0)::bigint as rows_read,
      (sum(n_tup_upd) filter (where relname = 'task'))::bigint as updates
    from pg_stat_user_tables where relname in ('task', 'ready', 'lease', 'delivery', 'edge')`,
};
const READY_READ: Statement = {
  name: 'test.ready_read',
  text: `select (seq_tup_read + idx_tup_fetch)::integer as n from pg_stat_xact_user_tables where relname = 'ready'`,
};

describe('tasks that go through queues', { concurrency: false }, () => {
  /** `seen` shows the worker again, as it does every few seconds. */
  async function announced(concurrency: number): Promise<LeaseBench & { seen(): Promise<void> }> {
    const bench = await leaseBench();
    const seen = (): Promise<void> => bench.engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency }]);
    await seen();
    return { ...bench, seen };
  }

  test('only kinds that a worker announced are dispatched, with a message each, and never twice', async () => {
    const bench = await announced(10);
    const { engine, sent } = bench;
    const { tasks } = await submitTasks(engine, [newTask({ metadata: { n: 1 } }), newTask({ kind: 'pulled' })]);
    const messages = await engine.dispatch('manager', 1_000);
    assert.deepEqual(messages, sent.get('worker:work'));
    assert.equal(messages.length, 1);
    const { task } = messages[0]!;
    assert.deepEqual([task.id, task.kind, task.attempt, task.input], [tasks[0]!.id, 'work', 1, { n: 1 }]);
    assert.deepEqual(await engine.dispatch('manager', 1_000), []);
    assert.equal((await engine.getTask(task.id))?.state, 'claimed');
    assert.equal((await claimKind(engine, 'pulled')).length, 1);
  });

  test('what waits in a queue waits for as long as its message may be there, and is kept by heartbeats once it started', async () => {
    const bench = await announced(10);
    const { engine, clock } = bench;
    await submitTasks(
      engine,
      Array.from({ length: 4 }, () => newTask({ timeout_secs: 600, rules: [limitOf('work', 100)] })),
    );
    const queued = (await engine.dispatch('manager', 1_000)).map(({ task }) => task);
    await clock.advance(14 * 86_400_000);
    assert.equal(await sweepAll(bench), 0);
    assert.equal((await engine.sweep()).timed_out, 0);

    const [kept, lost, canceled, paused] = queued;
    await engine.cancel([canceled!.id]);
    await engine.pause([paused!.id]);
    assert.deepEqual(await engine.heartbeat([kept!, lost!, canceled!, paused!].map((task) => beat(task))), [
      'applied',
      'applied',
      'canceled',
      'applied',
    ]);
    assert.equal((await engine.getTask(kept!.id))?.state, 'running');
    for (let n = 0; n < 4; n += 1) {
      await clock.advance(20_000);
      assert.deepEqual(await engine.heartbeat([beat(kept!), beat(kept!)]), ['applied', 'applied']);
      await sweepAll(bench);
    }
    assert.equal((await engine.getTask(lost!.id))?.state, 'pending');
    assert.equal((await engine.getTask(paused!.id))?.state, 'paused');
    await bench.seen();
    const again = (await engine.dispatch('manager', 1_000)).map(({ task }) => task);
    assert.deepEqual(
      again.map(({ id, attempt }) => [id, attempt]),
      [[lost!.id, 2]],
    );
    await engine.resume([paused!.id]);
    await succeed(engine, [kept!, again[0]!, paused!]);
    // The canceled one may have been at work unheard: it keeps its slot until its deadline.
    assert.equal(await usedSlots(bench), 1);
    await clock.advance(601_000);
    await sweepAll(bench);
    assert.deepEqual([await usedSlots(bench), await openLeases(bench)], [0, { n: 0, open: 0 }]);
  });

  test('at most a window waits ahead of the workers, which grows with them and takes dispatchers together', async () => {
    const bench = await announced(10);
    const { engine, database, clock, sent } = bench;
    await submitTasks(
      engine,
      Array.from({ length: 1_000 }, () => newTask()),
    );
    const others = Array.from({ length: 3 }, () =>
      createEngine({
        database,
        clock,
        random: systemRandom,
        log: silentLogger,
        queue: { sendIn: () => Promise.resolve() },
      }),
    );
    const first = (await Promise.all([engine, ...others].map((one) => one.dispatch('manager', 1_000)))).flat();
    assert.equal(first.length, 100);
    await engine.heartbeat(first.slice(0, 30).map(({ task }) => beat(task)));
    const limited = await engine.dispatch('manager', 10);
    const refill = await engine.dispatch('manager', 1_000);
    assert.deepEqual([limited.length, refill.length], [10, 20]);
    await engine.workersSeen([
      { worker: 'w2', kinds: ['work', 'work'], concurrency: 100 },
      { worker: 'w3', kinds: ['work', 'never-seen'], concurrency: 100 },
    ]);
    assert.equal((await engine.dispatch('manager', 1_000)).length, (10 + 100 + 100) * 2 - 100);
    const ids = [...sent.values()].flat().map(({ task }) => task.id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(await openLeases(bench).then(({ open }) => open), 30 + 420);
  });

  test('what waits in a queue that no worker reads any more is explained so', async () => {
    const bench = await announced(10);
    const { engine, clock } = bench;
    const { tasks } = await submitTasks(engine, [newTask()]);
    await engine.dispatch('manager', 10);
    const id = tasks[0]!.id;
    assert.equal(
      (await engine.explain(id))?.summary,
      'It is in the queue of the kind "work" and starts as soon as a worker receives it.',
    );
    const seen = clock.now();
    await clock.advance(61_000);
    const explanation = await engine.explain(id);
    assert.deepEqual(explanation?.obstacles, [{ type: 'no_worker', lane: 'kind:work', last_seen: seen }]);
    assert.match(explanation.summary, /^No worker has requested tasks of the kind "work" since /);
    await engine.workersSeen([{ worker: 'w2', kinds: ['work'], concurrency: 1 }]);
    assert.deepEqual((await engine.explain(id))?.obstacles, []);
  });

  test('a queue that no worker reads gets no tasks: they stay where others find them', async () => {
    const bench = await announced(10);
    const { engine, clock } = bench;
    await clock.advance(61_000);
    await submitTasks(engine, [newTask(), newTask()]);
    assert.deepEqual(await engine.dispatch('manager', 10), []);
    assert.equal((await claimKind(engine, 'work', 1)).length, 1);
    await engine.workersSeen([{ worker: 'w2', kinds: ['work'], concurrency: 1 }]);
    assert.equal((await engine.dispatch('manager', 10)).length, 1);
  });

  test('rules hold for what is dispatched', async () => {
    const bench = await announced(10);
    const { engine } = bench;
    await submitTasks(
      engine,
      Array.from({ length: 10 }, () => newTask({ rules: [limitOf('work', 3)] })),
    );
    const first = await engine.dispatch('manager', 1_000);
    assert.equal(first.length, 3);
    assert.deepEqual(await engine.dispatch('manager', 1_000), []);
    await engine.heartbeat([beat(first[0]!.task)]);
    await succeed(engine, [first[0]!.task, first[1]!.task]);
    assert.equal((await engine.dispatch('manager', 1_000)).length, 2);
    assert.equal(await usedSlots(bench), 3);
  });

  test('one pass checks all leases that are due', async () => {
    const bench = await leaseBench();
    const { engine, clock } = bench;
    await submitTasks(
      engine,
      Array.from({ length: 150 }, () => newTask()),
    );
    for (let n = 0; n < 150; n += 1) await leased(bench, 1);
    await clock.advance(LEASE_MS);
    assert.equal((await engine.sweep()).requeued, 150);
  });

  test('heartbeats, dispatch and sweeps read no table as a whole, whatever the statistics say', async () => {
    const bench = await announced(400);
    const { engine, database, clock } = bench;
    await database.query(FREEZE);
    await submitTasks(
      engine,
      Array.from({ length: 3_000 }, () => newTask({ rules: [limitOf('work', 5_000)] })),
    );
    // As stale as they get: all is pending in the planner's eyes, forever, and there is no lease.
    await database.query(ANALYZE_TASK);
    await database.query(ANALYZE_LEASE);
    for (let n = 0; n < 5; n += 1) {
      await bench.seen();
      const started = await engine.dispatch('manager', 300);
      for (let beats = 0; beats < 3; beats += 1) {
        await engine.heartbeat(started.map(({ task }) => beat(task, { new_success: 1 })));
        await clock.advance(15_000);
        await engine.sweep();
      }
      await succeed(
        engine,
        started.slice(0, 200).map(({ task }) => task),
      );
    }
    const read = await eventually(async () => {
      await Promise.all(Array.from({ length: 10 }, () => database.query(FLUSH)));
      const [row] = await database.query<{ rows_read: number; updates: number }>(READ);
      return row!.updates >= 5 * 300 * 4 && row;
    }, 'the statistics of all connections have arrived');
    assert.equal(read.rows_read, 0);
  });

  test('a look for what to dispatch reads no lane from end to end, whatever the statistics say', async () => {
    const { engine } = await announced(10);
    await submitTasks(
      engine,
      Array.from({ length: 3_000 }, () => newTask({ kind: 'pulled' })),
    );
    await submitTasks(engine, [newTask()]);
    const read = await engine.transaction(async (inner, tx) => {
      const count = async (): Promise<number> => (await tx.query<{ n: number }>(READY_READ))[0]!.n;
      const before = await count();
      assert.equal((await inner.dispatch('manager', 10)).length, 1);
      return (await count()) - before;
    });
    assert.ok(read > 0 && read < 20, `${read} rows were read`);
  });

  test('a message leaves when the claim commits, through a queue in the database', async () => {
    const { database } = await createTestDatabase();
    const clock = systemClock;
    const { queue } = await openQueue({ url: 'postgres', database, clock, random: systemRandom, log: silentLogger });
    const engine = createEngine({ database, clock, random: systemRandom, log: silentLogger, queue });
    await engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 1 }]);
    await submitTasks(engine, [newTask({ metadata: { n: 7 } })]);
    const [sent] = await engine.dispatch('manager', 10);
    const [received] = await queue.receive('worker:work', { max: 10, wait_ms: 10_000, visibility_ms: 60_000 });
    assert.deepEqual(parseStartTask(received!.body), { ok: true, message: sent });
    await queue.close();
    await engine.close();
  });

  test('a message that cannot be written takes the claim back with it', async () => {
    const bench = await newBench({ queue: { sendIn: () => Promise.reject(new Error('the queue is down')) } });
    await bench.engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 1 }]);
    const { tasks } = await submitTasks(bench.engine, [newTask()]);
    await assert.rejects(bench.engine.dispatch('manager', 10), /the queue is down/);
    const task = await bench.engine.getTask(tasks[0]!.id);
    assert.deepEqual([task?.state, task?.attempt], ['pending', 0]);
  });
});
