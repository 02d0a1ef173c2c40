import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ManagerLoop, type ManagerLoopOptions } from '../../src/app/manager-loop.ts';
import type { JsonObject } from '@heddle/base/json';
import { workerQueueOf, type StartTaskMessage } from '@heddle/core/domain/message';
import type { Manager, ManagerRun } from '@heddle/core/engine/manager/manager';
import { MemoryQueue } from '@heddle/test-support/queue/memory-queue';
import type { MessageQueue, ReceiveOptions } from '@heddle/core/queue/port';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { systemRandom } from '@heddle/base/random';
import {
  benchOn,
  collection,
  completion,
  MANAGER_QUEUE,
  newBench,
  newId,
  workerSeen,
  type Bench,
} from '@heddle/test-support/engine/manager/fixture';
import { newTask, submitTasks } from '@heddle/test-support/engine/fixture';
import { eventually } from '@heddle/test-support/eventually';
import { openTestDatabase } from '@heddle/test-support/postgres';

function startLoop(
  bench: Pick<ManagerLoopOptions, 'manager' | 'queue' | 'engine'>,
  extra: Partial<ManagerLoopOptions> = {},
): ManagerLoop {
  const loop = new ManagerLoop({
    ...bench,
    receivers: 2,
    intervalMs: 50,
    inboxKeepMs: 3_600_000,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    ...extra,
  });
  loop.start();
  return loop;
}

const NOTHING_DONE: ManagerRun = {
  failed: [],
  deadLettered: [],
  timed_out: 0,
  generators_completed: 0,
  dispatched: 0,
  finalized: 0,
  jobs_started: 0,
  busy: false,
  error: null,
};

async function send({ queue }: Pick<Bench, 'queue'>, ...bodies: (JsonObject | string)[]): Promise<void> {
  await queue.send(
    MANAGER_QUEUE,
    bodies.map((body) => ({ body: typeof body === 'string' ? body : JSON.stringify(body) })),
  );
}

/** Waits for the next task of a kind, like its worker. */
async function nextStart({ queue }: Pick<Bench, 'queue'>, kind: string): Promise<StartTaskMessage> {
  const name = workerQueueOf(kind);
  const [message] = await queue.receive(name, { max: 1, wait_ms: 20_000, visibility_ms: 60_000 });
  assert.ok(message !== undefined, `no task of ${kind} came`);
  await queue.delete(name, [message.receipt]);
  return JSON.parse(message.body) as StartTaskMessage;
}

async function close({ queue, engine }: Pick<Bench, 'queue' | 'engine'>, loop: ManagerLoop): Promise<void> {
  await loop.stop();
  await queue.close();
  await engine.close();
}

describe('the loop of the manager', () => {
  it('handles messages, dead-letters invalid ones, and retries failed ones', async () => {
    const bench = await newBench();
    const loop = startLoop(bench);
    const id = newId();
    const children = [{ kind: 'AnyGenerator' }, { id: 'fan', mode: 'parallel', children: [] }];
    await send(bench, workerSeen('AnyGenerator', 'made'), collection({ id, mode: 'parallel', children }), '{');
    const generator = await nextStart(bench, 'AnyGenerator');
    const base = { type: 'CreateTask', generator_id: generator.task.id };
    await send(bench, { ...base, task: { kind: 'made' }, parent_id: 'later' });
    await eventually(async () => (await bench.queue.depth(MANAGER_QUEUE)).delayed === 1, 'the failed message waits');
    await send(bench, { ...base, task: { id: 'later', mode: 'parallel', children: [] }, parent_id: 'fan' });
    const made = await nextStart(bench, 'made');
    await send(bench, completion(generator), completion(made));
    await eventually(
      async () => (await bench.engine.getWorkflow(id))?.root_state === 'succeeded',
      'the workflow ended',
    );
    const dead = await bench.queue.listDead(MANAGER_QUEUE, { offset: 0, limit: 9 });
    assert.deepEqual(
      dead.map(({ body }) => body),
      ['{'],
    );
    await eventually(async () => {
      const { visible, in_flight, delayed } = await bench.queue.depth(MANAGER_QUEUE);
      return visible + in_flight + delayed === 0;
    }, 'the queue is empty');
    await close(bench, loop);
  });

  it('hands out tasks that become ready without a message at once', async () => {
    const bench = await newBench();
    // The clock runs once at the start and not again: only a notification can be the reason.
    const loop = startLoop(bench, { intervalMs: 3_600_000 });
    await send(bench, workerSeen('woken'), collection({ mode: 'parallel', children: [{ kind: 'woken' }] }));
    await nextStart(bench, 'woken');
    await loop.stop();
    const again = startLoop(bench, { intervalMs: 3_600_000, receivers: 0 });
    await bench.engine.submit([
      {
        workflow_id: newId(),
        name: null,
        traceparent: null,
        idempotency: null,
        tasks: [newTask({ kind: 'woken', name: 'of a batch' })],
      },
    ]);
    assert.equal((await nextStart(bench, 'woken')).task.name, 'of a batch');
    await close(bench, again);
  });

  it('sweeps a backlog that exceeds one pass without waiting for the next interval', async () => {
    const bench = await newBench();
    const tasks = Array.from({ length: 11_000 }, () => newTask({ kind: 'late', delay_ms: 1 }));
    await submitTasks(bench.engine, tasks);
    await eventually(async () => {
      const [row] = await bench.database.query<{ waiting: number }>(
        {
          name: 'test.not_due',
          text: 'select count(*)::integer as waiting from delayed where run_at > clock_timestamp()',
        },
        [],
      );
      return row!.waiting === 0;
    }, 'all are due');
    // An hour between two passes: the rest is swept because the first reports that there is more.
    const loop = startLoop(bench, { intervalMs: 3_600_000, receivers: 0 });
    await eventually(async () => (await bench.engine.gauges(9)).ready_by_lane['kind:late'] === 11_000, 'all are ready');
    await close(bench, loop);
  });

  it('completes the running batch when it is stopped, and keeps it hidden until then', async () => {
    const bench = await newBench();
    const entered = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    const manager = {
      ...bench.manager,
      run: async (...args: Parameters<typeof bench.manager.run>) => {
        if (args[0].length > 0) {
          entered.resolve(undefined);
          await goOn.promise;
        }
        return bench.manager.run(...args);
      },
    };
    const loop = startLoop({ ...bench, manager }, { visibilityMs: 300 });
    const id = newId();
    await send(bench, collection({ id, mode: 'parallel', children: [{ kind: 'one' }] }));
    await entered.promise;
    const stopped = loop.stop();
    // Three times its visibility: without an extension it would have been redelivered by now.
    const others = await bench.queue.receive(MANAGER_QUEUE, { max: 1, wait_ms: 900, visibility_ms: 1 });
    assert.deepEqual(others, []);
    goOn.resolve(undefined);
    await stopped;
    assert.equal((await bench.engine.getWorkflow(id))?.task_count, 1);
    assert.equal((await bench.queue.depth(MANAGER_QUEUE)).in_flight, 0);
    await close(bench, loop);
  });

  it('combines small sets received meanwhile, and handles all of them when it is stopped', async () => {
    const queue = new MemoryQueue({ clock: systemClock });
    const goOn = Promise.withResolvers<undefined>();
    const sizes: number[] = [];
    const manager: Manager = {
      async run(messages) {
        if (messages.length > 0) {
          sizes.push(messages.length);
          await goOn.promise;
        }
        return NOTHING_DONE;
      },
      ping: () => Promise.resolve(),
      dispatchedKinds: () => Promise.resolve([]),
      recordDeadLetters: () => Promise.resolve(0),
      forgetMessages: () => Promise.resolve(0),
    };
    await queue.send(
      MANAGER_QUEUE,
      Array.from({ length: 60 }, () => ({ body: '{}' })),
    );
    const loop = startLoop({ manager, queue, engine: { onReady: () => () => undefined } }, { receiveMax: 10 });
    await eventually(
      async () => sizes.length === 2 && (await queue.depth(MANAGER_QUEUE)).in_flight === 60,
      'all are fetched while the first set is under way, and those that waited run beside it',
    );
    const stopped = loop.stop();
    goOn.resolve(undefined);
    await stopped;
    const [first, ...combined] = sizes;
    assert.equal(first, 10);
    assert.ok(combined.length <= 2, `of six sets ran ${sizes.join(', ')}`);
    assert.equal(
      combined.reduce((sum, size) => sum + size),
      50,
    );
    assert.deepEqual(await queue.depth(MANAGER_QUEUE), { visible: 0, in_flight: 0, delayed: 0, dead: 0 });
    await queue.close();
  });

  it('requests nothing while the database is unavailable, since each delivery counts toward the dead-letter limit', async () => {
    const away = openTestDatabase('postgres://nobody@127.0.0.1:1/none', { acquireRetries: 0, acquireTimeoutMs: 1_000 });
    const { manager, engine } = benchOn(away);
    const inner = new MemoryQueue({ clock: systemClock });
    let receives = 0;
    let pings = 0;
    const queue: MessageQueue = Object.assign(Object.create(inner) as MemoryQueue, {
      receive: (name: string, options: ReceiveOptions) => {
        receives += 1;
        return inner.receive(name, options);
      },
      release: (...args: Parameters<MessageQueue['release']>) => inner.release(args[0], args[1], 0),
      delete: (...args: Parameters<MessageQueue['delete']>) => inner.delete(...args),
      extend: (...args: Parameters<MessageQueue['extend']>) => inner.extend(...args),
      deadLetter: (...args: Parameters<MessageQueue['deadLetter']>) => inner.deadLetter(...args),
    });
    const counting = { ...manager, ping: () => ((pings += 1), manager.ping()) };
    await inner.send(MANAGER_QUEUE, [{ body: JSON.stringify(workerSeen('one')) }]);
    const loop = startLoop({ manager: counting, engine, queue }, { receivers: 1 });
    await eventually(() => pings >= 3, 'the receiver looks for the database');
    assert.equal(receives, 1);
    assert.equal((await inner.depth(MANAGER_QUEUE)).visible, 1);
    await loop.stop();
    await inner.close();
    await away.close();
  });
});
