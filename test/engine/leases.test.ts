import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { StartTaskMessage } from '../../src/domain/message.ts';
import type { Rule } from '../../src/domain/task.ts';
import type { Heartbeat } from '../../src/engine/port.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { VirtualClock } from '../../src/runtime/clock.ts';
import { silentLogger } from '../../src/runtime/log.ts';
import { seededRandom, systemRandom } from '../../src/runtime/random.ts';
import type { Statement } from '../../src/store/database.ts';
import { claimKind, newBench, newTask, submitTasks, succeed, type Bench } from './fixture.ts';

const LEASE_MS = 30_000;

const SLOTS: Statement = { name: 'test.slots', text: `select coalesce(sum(used), 0)::integer as n from heddle.slot` };
const LEASES: Statement = {
  name: 'test.leases',
  text: `select count(*) as n, coalesce(sum(open), 0)::integer as open from heddle.lease`,
};

interface LeaseBench extends Bench {
  clock: VirtualClock;
  /** Bodies by queue, as the engine sent them. */
  sent: Map<string, StartTaskMessage[]>;
}

async function leaseBench(): Promise<LeaseBench> {
  const clock = new VirtualClock();
  const sent = new Map<string, StartTaskMessage[]>();
  const bench = await newBench({
    clock,
    queue: {
      sendIn: (_tx, queue, messages) => {
        const bodies = messages.map(({ body }) => JSON.parse(body) as StartTaskMessage);
        sent.set(queue, [...(sent.get(queue) ?? []), ...bodies]);
        return Promise.resolve();
      },
    },
  });
  return { ...bench, clock, sent };
}

function beat(task: { id: string; attempt: number }, extra: Partial<Heartbeat> = {}): Heartbeat {
  return { task_id: task.id, attempt: task.attempt, new_success: 0, new_failures: 0, ...extra };
}

function leased({ engine }: Bench, limit = 1_000, kind = 'work') {
  return engine.claim({ lanes: [`kind:${kind}`], limit, holder: 'pull', lease_ms: LEASE_MS });
}

function limitOf(kind: string, max: number, type: Rule['type'] = 'concurrency'): Rule {
  return { type, matcher: { kind, fields: [] }, max };
}

async function usedSlots({ database }: Bench): Promise<number> {
  return (await database.query<{ n: number }>(SLOTS))[0]!.n;
}

async function openLeases({ database }: Bench): Promise<{ n: number; open: number }> {
  return (await database.query<{ n: number; open: number }>(LEASES))[0]!;
}

/** Sweeps until nothing is found: one pass looks at a bounded number of leases. */
async function sweepAll({ engine, clock }: LeaseBench): Promise<number> {
  let requeued = 0;
  for (let passes = 0; passes < 20; passes += 1) {
    const swept = await engine.sweep();
    requeued += swept.requeued;
    if (swept.requeued + swept.timed_out + swept.promoted === 0) break;
    await clock.advance(1);
  }
  return requeued;
}

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
    // Told to stop, it has stopped when the lease is over: what it held is free then.
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
      assert.match(task.failure_reason!, /^its worker was lost: nothing was heard of attempt 1[02] for 30\.0* s/);
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

describe('tasks that go through queues', { concurrency: false }, () => {
  async function announced(concurrency: number, workers = ['w1']): Promise<LeaseBench> {
    const bench = await leaseBench();
    await bench.engine.workersSeen(workers.map((worker) => ({ worker, kinds: ['work'], concurrency })));
    return bench;
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

  test('what waits in a queue waits for ever, and is kept by heartbeats once it started', async () => {
    const bench = await announced(10);
    const { engine, clock } = bench;
    await submitTasks(
      engine,
      Array.from({ length: 4 }, () => newTask({ timeout_secs: 600, rules: [limitOf('work', 100)] })),
    );
    const queued = (await engine.dispatch('manager', 1_000)).map(({ task }) => task);
    await clock.advance(30 * 86_400_000);
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

  test('a message that cannot be written takes the claim back with it', async () => {
    const bench = await newBench({ queue: { sendIn: () => Promise.reject(new Error('the queue is down')) } });
    await bench.engine.workersSeen([{ worker: 'w1', kinds: ['work'], concurrency: 1 }]);
    const { tasks } = await submitTasks(bench.engine, [newTask()]);
    await assert.rejects(bench.engine.dispatch('manager', 10), /the queue is down/);
    const task = await bench.engine.getTask(tasks[0]!.id);
    assert.deepEqual([task?.state, task?.attempt], ['pending', 0]);
  });
});

describe('many workers that die, stall, pause and come back', { concurrency: false }, () => {
  for (const seed of [1, 2, 3]) {
    test(`story ${seed}: every task ends once, no slot and no lease is left`, async () => {
      const bench = await leaseBench();
      const { engine, clock, database } = bench;
      const random = seededRandom(seed);
      const drawn = (below: number): number => Math.floor(random.next() * below);
      const sent: StartTaskMessage[] = [];
      const queue = {
        sendIn: (_tx: unknown, _queue: string, messages: readonly { body: string }[]) => {
          sent.push(...messages.map(({ body }) => JSON.parse(body) as StartTaskMessage));
          return Promise.resolve();
        },
      };
      const engines = Array.from({ length: 3 }, () =>
        createEngine({ database, clock, random, log: silentLogger, queue, workerLeaseMs: LEASE_MS }),
      );
      await engine.workersSeen([{ worker: 'w', kinds: ['queued'], concurrency: 5 }]);
      const { tasks } = await submitTasks(
        engine,
        Array.from({ length: 60 }, (_, index) => {
          const kind = index % 2 === 0 ? 'queued' : 'work';
          const rules =
            index % 3 === 0 ? [] : [limitOf(kind, 7), ...(index % 3 === 1 ? [limitOf(kind, 60, 'capacity')] : [])];
          return newTask({ kind, expected_count: drawn(20), rules });
        }),
      );
      const held: { id: string; attempt: number }[] = [];
      const play = async (): Promise<void> => {
        const one = engines[drawn(3)]!;
        const some = held.filter(() => drawn(3) === 0);
        switch (drawn(9)) {
          case 0:
            held.push(...(await leased({ ...bench, engine: one }, 8)));
            return;
          case 1:
            held.push(...(await one.dispatch('manager', 8)).map(({ task }) => task));
            return;
          case 2:
          case 3:
            await one.heartbeat(some.flatMap((task) => [beat(task, { new_success: drawn(3) }), beat(task)]));
            return;
          case 4:
            // Some die without a word; those that do report may be late.
            await succeed(one, some);
            held.splice(0, drawn(4));
            return;
          case 5:
            await one.release(some.slice(0, 2).map(({ id, attempt }) => ({ task_id: id, attempt })));
            return;
          case 6:
            await one.pause(some.slice(0, 2).map(({ id }) => id));
            return;
          case 7:
            await one.resume(tasks.map(({ id }) => id));
            return;
          default:
            await one.cancel(some.slice(0, 1).map(({ id }) => id));
        }
      };
      for (let round = 0; round < 60; round += 1) {
        await Promise.all(Array.from({ length: 4 }, play));
        await clock.advance(drawn(LEASE_MS / 2));
        await Promise.all(engines.map((one) => one.sweep()));
      }
      // Whatever waits in the queue is run by a worker that lives; leases of the dead lapse.
      await engine.resume(tasks.map(({ id }) => id));
      const isOpen = async (id: string): Promise<boolean> =>
        ['claimed', 'running', 'pending'].includes((await engine.getTask(id))!.state);
      for (let round = 0; round < 40; round += 1) {
        await succeed(engine, [...sent.splice(0).map(({ task }) => task), ...(await leased(bench))]);
        await engines[0]!.dispatch('manager', 100);
        await clock.advance(LEASE_MS);
        await sweepAll(bench);
        const open = await Promise.all(tasks.map(({ id }) => isOpen(id)));
        if (!open.includes(true)) break;
      }
      for (const { id } of tasks) {
        const task = await engine.getTask(id);
        assert.ok(
          ['succeeded', 'canceled', 'failed'].includes(task!.state),
          `${task!.state}: ${task!.failure_reason ?? ''}`,
        );
      }
      await clock.advance(3_600_000);
      await sweepAll(bench);
      assert.deepEqual([await usedSlots(bench), await openLeases(bench)], [0, { n: 0, open: 0 }]);
      const { remaining } = (await engine.getWorkflow((await engine.getTask(tasks[0]!.id))!.workflow_id))!;
      assert.equal(remaining, 0);
    });
  }
});
