import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../src/graph/buffer-pool.ts';
import { CountBudget } from '../../src/graph/count-budget.ts';
import { EnumCursor } from '../../src/graph/cursor.ts';
import { Executor, type StepHandlers } from '../../src/graph/executor.ts';
import { ObjectFrontier } from '../../src/graph/frontier.ts';
import type { Enumerable, ScanStep } from '../../src/graph/step.ts';
import { checkLeaks } from '../support/graph/no-leaks.ts';

checkLeaks();

class Source implements Enumerable {
  dropped = 0;
  onDropped(): void {
    this.dropped += 1;
  }
}

const frontier = new ObjectFrontier(CountBudget.create(1000), 0);

function fetchStep(idx: number): ScanStep<Source> {
  const descriptor = { path: String(idx), size_hint: 0, object_id: { source: 0, idx, entry: 0 }, source_id: 0 };
  return { kind: 'fetch_sync', object: frontier.tryAcquireContext(descriptor, 0)!, offset: idx };
}

function executorOf(handlers: Partial<StepHandlers<Source>>): {
  executor: Executor<Source>;
  events: { ready: number; defects: unknown[] };
} {
  const events = { ready: 0, defects: [] as unknown[] };
  const refuse = (): never => {
    throw new Error('not expected');
  };
  const executor = new Executor<Source>(
    { enumerate: refuse, fetchSync: refuse, scan: refuse, ...handlers },
    { onReady: () => void (events.ready += 1), onDefect: (error) => void events.defects.push(error) },
  );
  return { executor, events };
}

test('steps run first in, first out, including newly spawned ones', () => {
  const order: number[] = [];
  const { executor } = executorOf({
    fetchSync: (step) => {
      order.push(step.offset);
      if (step.offset < 40) executor.spawn(fetchStep(step.offset + 40));
      step.object[Symbol.dispose]();
      return null;
    },
  });
  for (let i = 0; i < 40; i++) executor.spawn(fetchStep(i));
  while (executor.runOne());
  assert.deepEqual(
    order,
    Array.from({ length: 80 }, (_, i) => i),
  );
  assert.ok(executor.isEmpty);
});

test('an executor whose steps all wait idles until it is woken', () => {
  let isOpen = false;
  let runs = 0;
  const { executor, events } = executorOf({
    fetchSync: (step) => {
      runs += 1;
      if (!isOpen) return step;
      step.object[Symbol.dispose]();
      return null;
    },
  });
  for (let i = 0; i < 3; i++) executor.spawn(fetchStep(i));
  while (executor.runOne());
  assert.equal(runs, 3);
  assert.ok(executor.isStalled);
  executor.spawn(fetchStep(3));
  while (executor.runOne());
  assert.equal(runs, 7, 'tries the new step and the waiting ones, once each');
  isOpen = true;
  assert.equal(executor.runOne(), false);
  executor.wake();
  assert.equal(events.ready, 1);
  while (executor.runOne());
  assert.ok(executor.isEmpty);
});

test('progress of one step lets waiting ones retry', () => {
  let free = 0;
  const { executor } = executorOf({
    fetchSync: (step) => {
      if (step.offset !== 2 && free === 0) return step;
      if (step.offset === 2) free = 2;
      else free -= 1;
      step.object[Symbol.dispose]();
      return null;
    },
  });
  for (let i = 0; i < 3; i++) executor.spawn(fetchStep(i));
  while (executor.runOne());
  assert.ok(executor.isEmpty);
});

test('a pending step leaves capacity for other steps, and may return to wait again', async () => {
  const answers: (() => void)[] = [];
  let refusals = 1;
  const { executor, events } = executorOf({
    fetchSync: async (step) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      if (refusals-- > 0) return step;
      step.object[Symbol.dispose]();
      return null;
    },
  });
  executor.spawn(fetchStep(0));
  assert.ok(executor.runOne());
  assert.deepEqual([executor.runOne(), executor.underWay, executor.isEmpty], [false, 1, false]);
  answers.pop()!();
  await new Promise(setImmediate);
  assert.deepEqual([events.ready, executor.queued], [1, 1]);
  executor.wake();
  executor.runOne();
  answers.pop()!();
  await new Promise(setImmediate);
  assert.ok(executor.isEmpty);
});

test('an abort drops queued steps, pending ones when they resolve, and ones spawned later', async () => {
  const pool = new BufferPool({ buffers_max: 1, buffer_bytes: 1, allocate: (length) => new Uint8Array(length) });
  const source = new Source();
  let answer = (): void => undefined;
  const { executor } = executorOf({
    fetchSync: async (step) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return step;
    },
  });
  executor.spawn(fetchStep(0));
  executor.runOne();
  const scanned = fetchStep(1);
  assert.ok(scanned.kind === 'fetch_sync');
  const { object } = scanned;
  const buffer = pool.tryAcquire()!;
  executor.spawn({ kind: 'scan', object, buffer, base_offset: 0, length: 1, prefix_length: 0, last: true });
  executor.spawn({ kind: 'enumerate', source, cursor: EnumCursor.start(), object: null });
  executor.abort();
  assert.equal(source.dropped, 1);
  assert.equal(pool.inUse, 0);
  executor.spawn(fetchStep(2));
  answer();
  await new Promise(setImmediate);
  assert.ok(executor.isEmpty);
  assert.equal(frontier.inFlight, 0);
});

test('a handler that throws or rejects is a defect, not an end', async () => {
  const { executor, events } = executorOf({
    fetchSync: (step) => {
      step.object[Symbol.dispose]();
      if (step.offset === 0) throw new Error('at once');
      return Promise.reject(new Error('later'));
    },
  });
  executor.spawn(fetchStep(0));
  executor.spawn(fetchStep(1));
  while (executor.runOne());
  await new Promise(setImmediate);
  assert.deepEqual(
    events.defects.map((defect) => (defect as Error).message),
    ['at once', 'later'],
  );
});

test('buffers have a hard cap, are kept, and are returned once', () => {
  let made = 0;
  const allocate = (length: number): Uint8Array => {
    made += 1;
    return new Uint8Array(length);
  };
  const pool = new BufferPool({ buffers_max: 2, buffer_bytes: 8, allocate });
  assert.deepEqual([pool.hasFree, made], [true, 0]);
  const [a, b] = [pool.tryAcquire()!, pool.tryAcquire()!];
  assert.deepEqual([pool.tryAcquire(), pool.hasFree, pool.inUse], [null, false, 2]);
  a[Symbol.dispose]();
  assert.throws(() => a[Symbol.dispose](), /already released/);
  const c = pool.tryAcquire()!;
  assert.equal(c.bytes, a.bytes);
  b[Symbol.dispose]();
  c[Symbol.dispose]();
  assert.deepEqual([made, pool.inUse], [2, 0]);
  assert.throws(() => new BufferPool({ buffers_max: 1, buffer_bytes: 5 * 1024 * 1024, allocate }), /between/);
});
