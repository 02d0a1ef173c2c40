import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import * as z from 'zod';

import { defineKind, task } from '@heddle/kit';
import type { NewTaskNode } from '@heddle/base/vocabulary/workflow';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import type { OutgoingMessage } from '@heddle/core/queue/port';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { eventually } from '@heddle/test-support/eventually';
import { Held, sendTasks, startTasks, Told, workerOf } from '../../support/dispatch/worker/harness.ts';

describe('a worker on queues', () => {
  it('runs its tasks and reports how they ended, then deletes the messages', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const told = new Told(queue);
    const kinds = [
      defineKind({ name: 'adds', input: z.object({ a: z.number() }), run: ({ a }) => ({ sum: a + 1 }) }),
      defineKind({ name: 'fails', run: () => Promise.reject(new Error('no such host')) }),
    ];
    const worker = workerOf(queue, kinds);
    worker.start();
    const [adds] = await startTasks(queue, 'adds', 1, { input: { a: 1 } });
    const [wrong] = await startTasks(queue, 'adds', 1, { input: { a: 'x' } });
    const [fails] = await startTasks(queue, 'fails', 1, { attempt: 3 });
    const ends = new Map((await told.untilEnded(3)).map((end) => [end.task_id, end]));
    await worker.stop(1000);
    assert.deepEqual(ends.get(adds!.id), {
      type: 'CompleteTask',
      task_id: adds!.id,
      state: 'Succeeded',
      root_container_id: adds!.parent_id,
      data: { sum: 2 },
      expected_task_count: null,
      attempt: 1,
      reason: null,
      final: false,
    });
    assert.equal(ends.get(wrong!.id)!.state, 'Failed');
    assert.equal(ends.get(wrong!.id)!.final, true);
    assert.match(ends.get(wrong!.id)!.reason!, /^the input is invalid: input\.a: /);
    const { state, attempt, reason } = ends.get(fails!.id)!;
    assert.deepEqual([state, attempt, reason], ['Failed', 3, 'no such host']);
    for (const name of ['worker:adds', 'worker:fails']) {
      assert.deepEqual(await queue.depth(name), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
    }
    assert.deepEqual(worker.counts().ended, { succeeded: 1, failed: 2, timed_out: 0, partially_failed: 0 });
  });

  it('announces its kinds at the start and every ten seconds', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const kinds = [defineKind({ name: 'a', run: () => 1 }), defineKind({ name: 'b', run: () => 1 })];
    const worker = workerOf(queue, kinds, { clock, worker: 'host/42', concurrency: 7 });
    worker.start();
    await clock.advance(25_000);
    await told.read();
    await stopped(worker.stop(0), clock);
    assert.deepEqual(
      told.seen,
      Array(3).fill({ type: 'WorkerSeen', worker: 'host/42', kinds: ['a', 'b'], concurrency: 7 }),
    );
  });

  it('never exceeds its concurrency or that of a kind, and receives only few more', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const [wide, narrow] = [new Held(), new Held()];
    const kinds = [
      defineKind({ name: 'wide', run: wide.run }),
      defineKind({ name: 'narrow', run: narrow.run, concurrency: 2 }),
    ];
    const worker = workerOf(queue, kinds, { clock, concurrency: 6 });
    await startTasks(queue, 'wide', 30);
    await startTasks(queue, 'narrow', 30);
    worker.start();
    const open = (): number => wide.runs.length + narrow.runs.length;
    const left = { wide: 30, narrow: 30 };
    while (left.wide + left.narrow > 0) {
      const most = Math.min(6, left.wide + Math.min(2, left.narrow));
      await eventually(() => open() === most, `${most} run of ${JSON.stringify(left)}`);
      assert.ok(narrow.runs.length <= 2, `${narrow.runs.length} of the narrow kind run`);
      const depths = await Promise.all(['worker:wide', 'worker:narrow'].map((name) => queue.depth(name)));
      const taken = depths.reduce((sum, { in_flight }) => sum + in_flight, 0);
      assert.ok(taken <= 6 + 4, `${taken} messages are taken`);
      left.wide -= wide.runs.length;
      left.narrow -= narrow.runs.length;
      for (const run of [...wide.runs.splice(0), ...narrow.runs.splice(0)]) run.succeed();
      await clock.advance(1000);
      await told.untilEnded(60 - left.wide - left.narrow);
    }
    await stopped(worker.stop(1000), clock);
  });

  it('does not starve a kind while a handler is free', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const told = new Told(queue);
    const kinds = ['a', 'b', 'c'].map((name) => defineKind({ name, run: () => name }));
    const worker = workerOf(queue, kinds, { concurrency: 2 });
    worker.start();
    await startTasks(queue, 'a', 300);
    await startTasks(queue, 'c', 3);
    await told.untilEnded(303);
    await worker.stop(1000);
  });
});

describe('the heartbeats of the worker', () => {
  it('a heartbeat at the start, then every twenty seconds, and the message stays hidden meanwhile', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const held = new Held();
    const worker = workerOf(queue, [defineKind({ name: 'long', run: held.run })], { clock });
    worker.start();
    const [long] = await startTasks(queue, 'long');
    await held.untilBegun(1);
    for (let minute = 0; minute < 10; minute += 1) await clock.advance(60_000);
    await told.read();
    assert.ok(told.beats.every(({ task_id, attempt }) => task_id === long!.id && attempt === 1));
    assert.ok(told.beats.length >= 30 && told.beats.length <= 32, `${told.beats.length} heartbeats in ten minutes`);
    assert.equal(held.runs.length, 1);
    held.runs[0]!.succeed('done');
    assert.equal((await told.untilEnded(1))[0]!.data, 'done');
    await stopped(worker.stop(0), clock);
  });

  it('counts of handlers are sent within a second, completely', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const rounds: (() => void)[] = [];
    const kind = defineKind({
      name: 'counts',
      run: async (_, { progress }) => {
        await progress(2, 1);
        await progress(1);
        await new Promise<void>((resolve) => rounds.push(resolve));
        await progress(4);
      },
    });
    const worker = workerOf(queue, [kind], { clock });
    worker.start();
    await startTasks(queue, 'counts');
    await eventually(() => rounds.length === 1, 'the handler waits');
    await clock.advance(1000);
    await told.read();
    const sums = (): number[] => [
      told.beats.reduce((sum, beat) => sum + beat.new_success, 0),
      told.beats.reduce((sum, beat) => sum + beat.new_failures, 0),
    ];
    assert.deepEqual(sums(), [3, 1]);
    rounds[0]!();
    await told.untilEnded(1);
    assert.deepEqual(sums(), [7, 1]);
    assert.equal(told.messages.at(-1)!.type, 'CompleteTask');
    await stopped(worker.stop(0), clock);
  });

  it('end when the handler shows no progress within its timeout; one that counts continues', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const held = new Held();
    const counting = defineKind({
      name: 'counting',
      run: async (_, { progress }) => {
        for (let n = 0; n < 10; n += 1) {
          await clock.sleep(20_000);
          await progress(1);
        }
      },
    });
    const worker = workerOf(queue, [defineKind({ name: 'hangs', run: held.run }), counting], { clock });
    worker.start();
    const [hangs] = await startTasks(queue, 'hangs', 1, { timeout_secs: 30 });
    const [counts] = await startTasks(queue, 'counting', 1, { timeout_secs: 30 });
    await held.untilBegun(1);
    await clock.advance(31_000);
    assert.equal(held.runs[0]!.signal.aborted, true);
    await clock.advance(6_000);
    const [timedOut] = await told.untilEnded(1);
    assert.deepEqual([timedOut!.task_id, timedOut!.state], [hangs!.id, 'Timeout']);
    assert.match(timedOut!.reason!, /no progress for 30 s/);
    await clock.advance(200_000);
    const ends = await told.untilEnded(2);
    assert.deepEqual([ends[1]!.task_id, ends[1]!.state], [counts!.id, 'Succeeded']);
    held.runs[0]!.succeed('too late');
    await stopped(worker.stop(0), clock);
    await told.read();
    assert.equal(told.ends.length, 2);
  });
});

describe('a cancellation', () => {
  it('reaches a listening handler within seconds, and nothing is reported', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const held = new Held();
    const canceled = new Set<string>();
    const asked: string[] = [];
    const control = {
      check: (tasks: readonly { task_id: string }[]) => {
        asked.push(...tasks.map(({ task_id }) => task_id));
        return Promise.resolve(tasks.map(({ task_id }) => (canceled.has(task_id) ? 'the task has ended' : null)));
      },
    };
    const deaf = defineKind({ name: 'deaf', run: () => clock.sleep(60_000) });
    const worker = workerOf(queue, [defineKind({ name: 'listens', run: held.run }), deaf], { clock, control });
    worker.start();
    const [first, second] = await startTasks(queue, 'listens', 2);
    const [other] = await startTasks(queue, 'deaf');
    await held.untilBegun(2);
    canceled.add(first!.id);
    await clock.advance(10_000);
    const runOf = (id: string) => held.runs.find((run) => run.id === id)!;
    assert.equal(runOf(first!.id).signal.aborted, true);
    assert.equal(runOf(second!.id).signal.aborted, false);
    assert.ok(!asked.includes(other!.id), 'a handler that does not listen is not checked');
    runOf(first!.id).fail(new Error('gave up'));
    runOf(second!.id).succeed();
    await clock.advance(60_000);
    const ends = await told.untilEnded(2);
    assert.deepEqual(ends.map(({ task_id }) => task_id).sort(), [second!.id, other!.id].sort());
    await stopped(worker.stop(0), clock);
    assert.equal((await queue.depth('worker:listens')).in_flight, 0);
  });
});

describe('redelivered messages', () => {
  it('run once: while the attempt runs here, and after it ended here', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const held = new Held();
    const worker = workerOf(queue, [defineKind({ name: 'once', run: held.run })], { clock });
    worker.start();
    const [once] = await startTasks(queue, 'once');
    await held.untilBegun(1);
    await sendTasks(queue, [once!]);
    await eventually(async () => (await queue.depth('worker:once')).in_flight === 2, 'the duplicate is taken');
    assert.equal(held.runs.length, 1);
    held.runs[0]!.succeed();
    await told.untilEnded(1);
    await eventually(async () => (await queue.depth('worker:once')).in_flight === 0, 'both are settled');
    await sendTasks(queue, [once!]);
    await eventually(async () => (await queue.depth('worker:once')).visible === 0, 'the late one is taken');
    await eventually(async () => (await queue.depth('worker:once')).in_flight === 0, 'the late one is settled');
    await stopped(worker.stop(0), clock);
    assert.equal(held.runs.length, 1);
    await told.read();
    assert.equal(told.ends.length, 1);
  });

  it('a later attempt stops the earlier one, whose end is not reported', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const told = new Told(queue);
    const held = new Held();
    const worker = workerOf(queue, [defineKind({ name: 'again', run: held.run })]);
    worker.start();
    const [first] = await startTasks(queue, 'again');
    await held.untilBegun(1);
    await sendTasks(queue, [{ ...first!, attempt: 2 }]);
    await held.untilBegun(2);
    assert.equal(held.runs[0]!.signal.aborted, true);
    held.runs[0]!.succeed('old');
    held.runs[1]!.succeed('new');
    const [end] = await told.untilEnded(1);
    assert.deepEqual([end!.attempt, end!.data], [2, 'new']);
    await worker.stop(1000);
    await told.read();
    assert.equal(told.ends.length, 1);
  });

  it('are checked before they run again, and abandoned if none ever ended them', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const ran: string[] = [];
    const over = new Set<string>();
    const control = {
      check: (tasks: readonly { task_id: string }[]) =>
        Promise.resolve(tasks.map(({ task_id }) => (over.has(task_id) ? 'the task has ended' : null))),
    };
    const kind = defineKind({ name: 'lost', run: (_, { task: { id } }) => void ran.push(id) });
    const [ended, wanted, poison] = await startTasks(queue, 'lost', 3);
    over.add(ended!.id);
    // Workers that die with their messages: the last one is delivered ten times.
    for (let delivery = 0; delivery < 9; delivery += 1) {
      const received = await queue.receive('worker:lost', { max: 10, wait_ms: 0, visibility_ms: 1000 });
      const spared = received.filter(({ body }) => !body.includes(poison!.id));
      if (delivery > 0)
        await queue.extend(
          'worker:lost',
          spared.map(({ receipt }) => receipt),
          20_000,
        );
      await clock.advance(1000);
    }
    await clock.advance(20_000);
    const worker = workerOf(queue, [kind], { clock, control });
    worker.start();
    const ends = await told.untilEnded(2);
    assert.deepEqual(ran, [wanted!.id]);
    const givenUp = ends.find(({ task_id }) => task_id === poison!.id)!;
    assert.equal(givenUp.state, 'Failed');
    assert.match(givenUp.reason!, /^its message was delivered 10 times/);
    await stopped(worker.stop(0), clock);
    assert.equal((await queue.depth('worker:lost')).in_flight, 0);
  });

  it('are checked after a long wait: tasks canceled meanwhile never start', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const ran: string[] = [];
    const asked: string[] = [];
    const [canceled, wanted] = await startTasks(queue, 'late', 2);
    const control = {
      check: (tasks: readonly { task_id: string }[]) => {
        asked.push(...tasks.map(({ task_id }) => task_id));
        return Promise.resolve(tasks.map(({ task_id }) => (task_id === canceled!.id ? 'the task has ended' : null)));
      },
    };
    await clock.advance(10_000);
    const [fresh] = await startTasks(queue, 'late');
    const kind = defineKind({ name: 'late', run: (_, { task: { id } }) => void ran.push(id) });
    const worker = workerOf(queue, [kind], { clock, control });
    worker.start();
    // That no worker runs it is reported, too: it may hold slots.
    const ends = await told.untilEnded(3);
    assert.deepEqual(ends.map(({ task_id, state }) => `${task_id} ${state}`).sort(), [
      `${canceled!.id} Failed`,
      `${wanted!.id} Succeeded`,
      `${fresh!.id} Succeeded`,
    ]);
    assert.deepEqual(ran.sort(), [wanted!.id, fresh!.id].sort());
    assert.deepEqual(asked.sort(), [canceled!.id, wanted!.id].sort());
    await stopped(worker.stop(0), clock);
    const { visible, in_flight } = await queue.depth('worker:late');
    assert.equal(visible + in_flight, 0);
  });

  it('that are unreadable are dead-lettered with the reason and hold nothing up', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const told = new Told(queue);
    const worker = workerOf(queue, [defineKind({ name: 'good', run: () => 1 })]);
    const [other] = await startTasks(queue, 'other');
    const stranger = JSON.stringify({ type: 'StartTask', root_container_id: other!.parent_id, task: other });
    for (const body of ['not JSON', '{"type":"StopTask"}', '{"type":"StartTask"}', stranger]) {
      await queue.send('worker:good', [{ body }]);
    }
    await startTasks(queue, 'good');
    worker.start();
    await told.untilEnded(1);
    const dead = await queue.listDead('worker:good', { offset: 0, limit: 10 });
    await worker.stop(1000);
    const reasons = dead.map(({ body, reason }) => `${body.slice(0, 20)}: ${reason}`).sort();
    assert.equal(reasons.length, 4);
    assert.match(reasons[0]!, /^not JSON: the body is not valid JSON/);
    assert.match(reasons[1]!, /StartTask.*: task\.kind: is other, but this is the queue worker:good/);
    assert.match(reasons[2]!, /StartTask.*: root_container_id: is required; task: must be an object/);
    assert.match(reasons[3]!, /StopTask.*: type: /);
  });
});

describe('a stop', () => {
  it('releases tasks that have not started and lets the rest finish', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const told = new Told(queue);
    const held = new Held();
    // Two at once of one kind with two at once in total: the second kind's message waits.
    const kinds = ['x', 'y'].map((name) => defineKind({ name, run: held.run }));
    const worker = workerOf(queue, kinds, { concurrency: 1 });
    worker.start();
    await startTasks(queue, 'x');
    await held.untilBegun(1);
    await startTasks(queue, 'y');
    await eventually(async () => (await queue.depth('worker:y')).in_flight === 1, 'the second is taken');
    const stopping = worker.stop(60_000);
    await eventually(async () => (await queue.depth('worker:y')).visible === 1, 'the second is handed back');
    assert.equal(held.runs[0]!.signal.aborted, false);
    held.runs[0]!.succeed('ended in time');
    await stopping;
    await told.read();
    assert.deepEqual(
      told.ends.map(({ data }) => data),
      ['ended in time'],
    );
    assert.equal((await queue.depth('worker:x')).in_flight, 0);
  });

  it('aborts after the grace period and releases tasks that do not succeed, so that another worker takes them at once', async () => {
    const clock = new VirtualClock();
    const queue = new MemoryQueue({ clock });
    const told = new Told(queue);
    const kind = defineKind({
      name: 'slow',
      input: z.object({ manner: z.string() }),
      run: ({ manner }, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => {
            if (manner === 'throws') reject(signal.reason as Error);
            if (manner === 'saves') resolve('saved in a hurry');
          });
        }),
    });
    const worker = workerOf(queue, [kind], { clock });
    worker.start();
    for (const manner of ['throws', 'saves', 'deaf']) await startTasks(queue, 'slow', 1, { input: { manner } });
    await eventually(() => worker.counts().running === 3, 'three run');
    const stopping = worker.stop(5000);
    await stopped(stopping, clock);
    await told.read();
    assert.deepEqual(
      told.ends.map(({ state, data }) => [state, data]),
      [['Succeeded', 'saved in a hurry']],
    );
    const depth = await queue.depth('worker:slow');
    assert.deepEqual([depth.visible, depth.in_flight], [2, 0]);
    const next = workerOf(queue, [defineKind({ name: 'slow', run: () => 'by another' })], { clock });
    next.start();
    await told.untilEnded(3);
    await stopped(next.stop(0), clock);
    assert.deepEqual(told.ends.map(({ data }) => data).sort(), ['by another', 'by another', 'saved in a hurry']);
  });
});

describe('a generator on queues', () => {
  it('sends one message per node, in bounded batches, and announces their number', async () => {
    const sets: number[] = [];
    class Recording extends MemoryQueue {
      override send(name: string, messages: readonly OutgoingMessage[]): Promise<void> {
        if (messages.some(({ body }) => body.includes('"CreateTask"'))) sets.push(messages.length);
        return super.send(name, messages);
      }
    }
    const queue = new Recording({ clock: systemClock });
    const told = new Told(queue);
    const kind = defineKind({
      name: 'FanOut',
      input: z.object({ count: z.number() }),
      async *run({ count }) {
        for (let n = 0; n < count; n += 1) yield await Promise.resolve(task('work', { n }, { local_id: `part-${n}` }));
      },
    });
    const worker = workerOf(queue, [kind]);
    worker.start();
    const [generator] = await startTasks(queue, 'FanOut', 1, { input: { count: 1234 } });
    const [end] = await told.untilEnded(1);
    await worker.stop(1000);
    assert.deepEqual([end!.state, end!.expected_task_count], ['Succeeded', 1234]);
    assert.equal(told.nodes.length, 1234);
    assert.ok(told.nodes.every(({ generator_id, parent_id }) => generator_id === generator!.id && parent_id === null));
    const ids = new Set(told.nodes.map(({ task: node }) => (node as NewTaskNode).task.id));
    assert.equal(ids.size, 1234);
    assert.ok(Math.max(...sets) <= 200, String(sets));
  });
});

/** Advances virtual time as far as a stop needs. */
async function stopped(stopping: Promise<void>, clock: VirtualClock): Promise<void> {
  let over = false;
  void stopping.finally(() => (over = true));
  await eventually(async () => {
    await clock.advance(100);
    return over;
  }, 'the worker has stopped');
  await stopping;
}
