import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HeddleError } from '@heddle/base/errors';
import { systemClock, VirtualClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { decodeLines } from '@heddle/base/log-lines';
import { linesOf, type SlabLog } from '@heddle/base/log-slab';
import { seededRandom } from '@heddle/base/random';
import { LocalWorker } from '../../src/dispatch/local-worker.ts';
import type { LocalWorkerOptions } from '../../src/dispatch/local-worker.ts';
import { ExecutorRegistry } from '../../src/dispatch/executor-registry.ts';
import type { Executor, TaskContext } from '../../src/dispatch/executor-registry.ts';
import { eventually } from '@heddle/test-support/eventually';
import { FakeTasks } from '../support/dispatch/fake-engine.ts';

function workerOf(
  engine: LocalWorkerOptions['engine'],
  executors: Record<string, Executor>,
  changes: Partial<LocalWorkerOptions> = {},
): LocalWorker {
  return new LocalWorker({
    engine,
    registry: ExecutorRegistry.of(executors),
    holder: 'test',
    intervalMs: 60_000,
    clock: systemClock,
    random: seededRandom(1),
    log: silentLogger,
    ...changes,
  });
}

describe('running tasks in this process', () => {
  it('reports what executors return and throw, with the attempt they ran', async () => {
    const tasks = new FakeTasks();
    const worker = workerOf(tasks, {
      sync: () => ({ answer: 42 }),
      nothing: () => undefined,
      async: async () => Promise.resolve('late'),
      throws: () => {
        throw new Error('no such file');
      },
      rejects: () => Promise.reject(new Error(`\u0000${'x'.repeat(5000)}`)),
    });
    for (const kind of ['sync', 'nothing', 'async', 'throws', 'rejects']) {
      tasks.add(1, kind, { id: kind, attempt: 3, linked: kind === 'sync' });
    }
    tasks.add(1, 'stranger', { id: 'stranger' });
    worker.start();
    await eventually(() => tasks.reports.length === 6, 'six reports');
    await worker.stop(1000);
    const byId = new Map(tasks.reports.map((report) => [report.task_id, report]));
    const base = { attempt: 3, workflow: { id: 'workflow', linked: false } };
    assert.deepEqual(byId.get('sync'), {
      task_id: 'sync',
      ...base,
      workflow: { id: 'workflow', linked: true },
      outcome: 'succeeded',
      result: { answer: 42 },
    });
    assert.deepEqual(byId.get('nothing'), { task_id: 'nothing', ...base, outcome: 'succeeded' });
    assert.deepEqual(byId.get('async'), { task_id: 'async', ...base, outcome: 'succeeded', result: 'late' });
    assert.deepEqual(byId.get('throws'), { task_id: 'throws', ...base, outcome: 'failed', reason: 'no such file' });
    const { reason = '' } = byId.get('rejects')!;
    assert.equal(reason.length, 1000);
    assert.ok(reason.startsWith('\ufffdxxx') && reason.endsWith('…'));
    assert.match(byId.get('stranger')!.reason!, /no kind stranger in this process: name the module/);
    assert.deepEqual(tasks.claims[0]!.lanes, [
      'kind:sync',
      'kind:nothing',
      'kind:async',
      'kind:throws',
      'kind:rejects',
    ]);
  });

  it('never exceeds its concurrency, and never leaves an executor free while tasks wait', async () => {
    const tasks = new FakeTasks();
    const open: (() => void)[] = [];
    let most = 0;
    const worker = workerOf(
      tasks,
      {
        slow: () => {
          most = Math.max(most, worker.running + 1);
          return new Promise<void>((resolve) => open.push(resolve));
        },
      },
      { concurrency: 5 },
    );
    tasks.add(40, 'slow');
    worker.start();
    for (let done = 0; done < 40; done += 1) {
      await eventually(() => open.length === Math.min(5, 40 - done), 'every executor is taken');
      open.shift()!();
    }
    await eventually(() => tasks.reports.length === 40, 'forty reports');
    await worker.stop(1000);
    assert.equal(most, 5);
  });

  it('claims no more slow tasks than it can run', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const open: (() => void)[] = [];
    const worker = workerOf(
      tasks,
      { slow: () => new Promise<void>((resolve) => open.push(resolve)) },
      { concurrency: 4, clock },
    );
    tasks.add(100, 'slow');
    worker.start();
    for (let round = 0; round < 5; round += 1) {
      await eventually(() => open.length === 4, 'four run');
      assert.ok(
        100 - tasks.ready.length <= 4 * (round + 1) + 2,
        `${100 - tasks.ready.length} claimed in round ${round}`,
      );
      await clock.advance(1000);
      for (const finish of open.splice(0)) finish();
    }
    await eventually(() => tasks.reports.length >= 20, 'twenty reports');
    open.forEach((finish) => finish());
    const stopping = worker.stop(1000);
    await clock.advance(10_000);
    await stopping;
  });

  it('claims quick tasks in large sets, at most two claims at once, and reports in sets', async () => {
    const tasks = new FakeTasks();
    const worker = workerOf(tasks, { noop: () => undefined });
    const total = 60_000;
    tasks.add(total);
    worker.start();
    await eventually(() => tasks.reports.length === total, 'every report');
    await worker.stop(1000);
    assert.equal(new Set(tasks.reports.map((report) => report.task_id)).size, total);
    assert.ok(tasks.claims.length < 400, `${tasks.claims.length} claims`);
    assert.ok(tasks.reportSets.length < 400, `${tasks.reportSets.length} calls of report`);
    assert.equal(tasks.claimsUnderWayMax, 2);
  });

  it('is idle until it is notified, and polls once an interval', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const worker = workerOf(tasks, { noop: () => undefined }, { clock, intervalMs: 1000 });
    worker.start();
    await clock.advance(0);
    assert.equal(tasks.claims.length, 1);
    await clock.advance(999);
    assert.equal(tasks.claims.length, 1);
    await clock.advance(1);
    assert.equal(tasks.claims.length, 2);
    tasks.add(1);
    await eventually(() => tasks.reports.length === 1, 'the woken claim');
    assert.equal(clock.monotonic(), 1000, 'no time had to pass');
    await worker.stop(0);
    assert.equal(tasks.readySignal.listeners, 0);
    assert.equal(clock.timers, 0);
  });
});

describe('what executors log', () => {
  const textOf = (log: SlabLog): string[] => decodeLines(linesOf(log).text).map(({ text }) => text);

  it('goes along with the report if it is little, and is stored before the report if it is much', async () => {
    const tasks = new FakeTasks();
    const worker = workerOf(tasks, {
      silent: () => undefined,
      little: (_task, { log, output }) => {
        log.warn({ rows: 2 }, 'careful');
        output('stdout', 'a\r\nb\0');
      },
      much: (_task, { output }) => output('stdout', 'x'.repeat(5_000)),
      slow: async (_task, { output }) => {
        output('stderr', 'before');
        await eventually(() => tasks.logged.some(({ task_id }) => task_id === 'slow'), 'a line is stored');
        output('stderr', 'after');
      },
    });
    for (const kind of ['silent', 'little', 'much', 'slow']) tasks.add(1, kind, { id: kind });
    worker.start();
    await eventually(() => tasks.reports.length === 4, 'four reports');
    await worker.stop(1_000);
    const logs = new Map(tasks.reports.map(({ task_id, log }) => [task_id, log === undefined ? null : textOf(log)]));
    assert.deepEqual(Object.fromEntries(logs), {
      silent: null,
      little: ['careful {"rows":2}', 'a', 'b\ufffd'],
      much: null,
      slow: null,
    });
    const stored = new Map(
      tasks.logged.map(({ task_id, text }) => [task_id, decodeLines(text).map((each) => each.text)]),
    );
    assert.deepEqual(stored.get('slow'), ['before', 'after']);
    assert.deepEqual(stored.get('much'), ['x'.repeat(5_000)]);
    assert.equal(stored.size, 2);
  });

  it('is kept if it comes after the end, with the numbers that follow', async () => {
    const tasks = new FakeTasks();
    const ended = Promise.withResolvers<TaskContext>();
    const worker = workerOf(tasks, {
      hasty: (_task, context) => {
        context.output('stdout', 'one\ntwo');
        ended.resolve(context);
      },
    });
    tasks.add(1, 'hasty');
    worker.start();
    await eventually(() => tasks.reports.length === 1, 'the report');
    (await ended.promise).output('stdout', 'three');
    await eventually(() => tasks.logged.length > 0, 'the late line');
    await worker.stop(1_000);
    assert.equal(tasks.reports[0]!.log!.lines, 2);
    assert.deepEqual([tasks.logged[0]!.first_line, tasks.logged[0]!.lines], [2, 1]);
  });
});

describe('when the engine fails', () => {
  it('reports are retried until they are accepted; none is lost', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    let outages = 3;
    const report = tasks.report.bind(tasks);
    tasks.report = (reports) => {
      outages -= 1;
      return outages >= 0 ? Promise.reject(new HeddleError('DATABASE_UNAVAILABLE')) : report(reports);
    };
    const worker = workerOf(tasks, { noop: () => undefined }, { clock });
    tasks.add(50);
    worker.start();
    await clock.advance(10_000);
    await eventually(() => tasks.reports.length === 50, 'every report');
    await worker.stop(0);
  });

  it('one report that cannot be stored fails its own task and no other', async () => {
    const tasks = new FakeTasks();
    const report = tasks.report.bind(tasks);
    tasks.report = (reports) =>
      reports.some(({ result }) => result === 'poison')
        ? Promise.reject(new Error('unsupported Unicode escape sequence'))
        : report(reports);
    const worker = workerOf(tasks, { good: () => 'fine', bad: () => 'poison' });
    tasks.add(11, 'good');
    tasks.add(1, 'bad', { id: 'bad' });
    tasks.add(11, 'good');
    worker.start();
    await eventually(() => tasks.reports.length === 23, 'every report');
    await worker.stop(1000);
    const failed = tasks.reports.filter(({ outcome }) => outcome === 'failed');
    assert.deepEqual(
      failed.map(({ task_id, reason }) => [task_id, reason]),
      [['bad', 'unsupported Unicode escape sequence']],
    );
  });

  it('a failed claim waits for the poll, regardless of notifications', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const claim = tasks.claim.bind(tasks);
    let calls = 0;
    tasks.claim = (request) =>
      ++calls === 1 ? Promise.reject(new HeddleError('DATABASE_UNAVAILABLE')) : claim(request);
    const worker = workerOf(tasks, { noop: () => undefined }, { clock, intervalMs: 500 });
    worker.start();
    await clock.advance(100);
    tasks.add(3);
    tasks.readySignal.fire();
    await clock.advance(100);
    assert.equal(calls, 1);
    await clock.advance(300);
    await eventually(() => tasks.reports.length === 3, 'the reports');
    await worker.stop(0);
  });

  it('an outage is logged with growing intervals, and the next one at once', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const told: unknown[] = [];
    const log = {
      ...silentLogger,
      error: (fields: object) => void told.push((fields as { failures: number }).failures),
    };
    const claim = tasks.claim.bind(tasks);
    let away = true;
    let calls = 0;
    tasks.claim = (request) => {
      calls += 1;
      return away ? Promise.reject(new HeddleError('DATABASE_UNAVAILABLE')) : claim(request);
    };
    const worker = workerOf(tasks, { noop: () => undefined }, { clock, intervalMs: 500, log });
    const polls = async (count: number): Promise<void> => {
      for (let poll = 0; poll < count; poll += 1) await clock.advance(500);
    };
    worker.start();
    await polls(100);
    assert.equal(calls, 101);
    assert.deepEqual(told, [1, 2, 4, 8, 16, 32, 64]);
    away = false;
    await polls(1);
    away = true;
    await polls(1);
    assert.deepEqual(told.slice(7), [1]);
    await worker.stop(0);
  });
});

describe('the context of an executor', () => {
  it('counts progress, and learns from it that the task has ended', async () => {
    const tasks = new FakeTasks();
    const seen: unknown[] = [];
    const worker = workerOf(tasks, {
      canceled: async (task, { signal, progress }) => {
        seen.push(await progress(2, 1));
        tasks.over.add(task.id);
        seen.push(await progress(1, 0), signal.aborted, (signal.reason as Error).message);
      },
    });
    tasks.add(1, 'canceled', { id: 'canceled' });
    worker.start();
    await eventually(() => tasks.reports.length === 1, 'the report');
    await worker.stop(1000);
    assert.deepEqual(seen, ['applied', 'terminal', true, 'the task has ended']);
    assert.deepEqual(tasks.counted[0], {
      task_id: 'canceled',
      attempt: 1,
      new_success: 2,
      new_failures: 1,
      idempotency_key: null,
    });
  });

  it('renews leases, and aborts tasks whose lease was lost', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const gone = Promise.withResolvers<string>();
    const worker = workerOf(
      tasks,
      {
        waits: (_, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              gone.resolve((signal.reason as Error).message);
              resolve();
            });
          }),
      },
      { clock, leaseMs: 3000, watchIntervalMs: 600_000 },
    );
    tasks.add(1, 'waits', { id: 'first' });
    tasks.add(1, 'waits', { id: 'second' });
    worker.start();
    await eventually(() => worker.running === 2, 'both run');
    assert.equal(tasks.claims[0]!.lease_ms, 3000);
    await clock.advance(1000);
    await eventually(() => tasks.beats.some((set) => set.length === 2), 'a sign of life');
    assert.deepEqual(
      tasks.beats.at(-1)!.map(({ task_id, attempt }) => [task_id, attempt]),
      [
        ['first', 1],
        ['second', 1],
      ],
    );
    tasks.over.add('first').add('second');
    for (let second = 0; second < 5 && worker.running > 0; second += 1) await clock.advance(1000);
    assert.equal(await gone.promise, 'the task has ended');
    await worker.stop(0);
    assert.equal(clock.timers, 0);
  });

  it('a task that was canceled before it started here never runs, and is released', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const ran: string[] = [];
    const gate = Promise.withResolvers<undefined>();
    const work: Executor = async ({ id }) => {
      ran.push(id);
      await gate.promise;
    };
    const worker = workerOf(tasks, { work }, { clock, leaseMs: 3000, concurrency: 1, watchIntervalMs: 600_000 });
    worker.start();
    await eventually(() => tasks.claims.length === 1 && tasks.claimsUnderWay === 0, 'the first claim');
    const along = [...tasks.offers][0]!()!;
    const brought = new FakeTasks();
    for (const id of ['runs', 'canceled', 'next']) brought.add(1, 'work', { id });
    along.arrived(brought.ready.splice(0));
    tasks.over.add('canceled');
    for (let second = 0; second < 5 && tasks.released.length === 0; second += 1) await clock.advance(1000);
    assert.deepEqual(tasks.released, [{ task_id: 'canceled', attempt: 1 }]);
    gate.resolve(undefined);
    await eventually(() => tasks.reports.length === 2, 'the reports');
    assert.deepEqual(ran, ['runs', 'next']);
    await worker.stop(0);
  });

  it('accepts tasks with a submission, and takes none after a stop', async () => {
    const tasks = new FakeTasks();
    const worker = workerOf(tasks, { noop: () => undefined }, { clock: new VirtualClock() });
    worker.start();
    const [offer] = tasks.offers;
    await eventually(() => tasks.claims.length === 1 && tasks.claimsUnderWay === 0, 'the first claim');
    const along = offer!();
    assert.deepEqual(along?.request.lanes, ['kind:noop']);
    const other = new FakeTasks();
    other.add(1, 'noop', { id: 'brought' });
    along.arrived(other.ready.splice(0));
    await eventually(() => tasks.reports.some(({ task_id }) => task_id === 'brought'), 'its report');
    await worker.stop(0);
    assert.equal(tasks.offers.size, 0);
    assert.equal(offer!(), null);
  });

  it('a canceled task aborts the signal of an executor that reports nothing', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const aborted = Promise.withResolvers<string>();
    const worker = workerOf(
      tasks,
      {
        waits: (_, { signal }) =>
          new Promise<void>((resolve) => {
            signal.addEventListener('abort', () => {
              aborted.resolve((signal.reason as Error).message);
              resolve();
            });
          }),
      },
      { clock, watchIntervalMs: 1000 },
    );
    tasks.add(1, 'waits', { id: 'waits' });
    worker.start();
    await eventually(() => worker.running === 1, 'it runs');
    await clock.advance(2000);
    assert.equal(worker.running, 1, 'a task that is not over goes on');
    tasks.over.add('waits');
    await clock.advance(3000);
    assert.equal(await aborted.promise, 'the task has ended');
    await worker.stop(0);
  });
});

describe('stopping', () => {
  it('lets running tasks finish within the grace period', async () => {
    const tasks = new FakeTasks();
    const gate = Promise.withResolvers<undefined>();
    const worker = workerOf(tasks, { slow: () => gate.promise });
    tasks.add(2, 'slow');
    worker.start();
    await eventually(() => worker.running === 2, 'two run');
    const stopping = worker.stop(60_000);
    tasks.add(1, 'slow');
    gate.resolve(undefined);
    await stopping;
    assert.deepEqual(
      tasks.reports.map(({ outcome }) => outcome),
      ['succeeded', 'succeeded'],
    );
    assert.equal(tasks.ready.length, 1, 'nothing is claimed after the stop');
  });

  it('then aborts the signals, and releases tasks that do not succeed', async () => {
    const tasks = new FakeTasks();
    const clock = new VirtualClock();
    const worker = workerOf(
      tasks,
      {
        obeys: (_, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('partial'))),
        throws: (_, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
        hangs: () => new Promise(() => undefined),
      },
      { clock, concurrency: 3 },
    );
    for (const kind of ['obeys', 'throws', 'hangs']) tasks.add(1, kind, { id: kind, attempt: 2 });
    worker.start();
    await eventually(() => worker.running === 3, 'three run');
    const stopping = worker.stop(5000);
    await clock.advance(20_000);
    await stopping;
    assert.deepEqual(
      tasks.reports.map(({ task_id, outcome, reason }) => [task_id, outcome, reason]),
      [['obeys', 'succeeded', undefined]],
    );
    assert.deepEqual(tasks.released, [
      { task_id: 'throws', attempt: 2 },
      { task_id: 'hangs', attempt: 2 },
    ]);
  });
});

describe('the registry', () => {
  it('runs only allowed kinds and names those without an executor', () => {
    const board = ExecutorRegistry.of({ a: () => 1, b: () => 2 }, ['a', 'typo']);
    assert.deepEqual(board.kinds(), ['a']);
    assert.deepEqual(board.lanes(), ['kind:a']);
    assert.equal(board.executorOf('b'), undefined);
    assert.deepEqual(board.unknownAllowed(), ['typo']);
    assert.throws(() => board.register('a', () => 3), /already/);
    assert.throws(() => board.register('', () => 3), RangeError);
    assert.throws(() => board.register('k'.repeat(101), () => 3), RangeError);
  });
});
