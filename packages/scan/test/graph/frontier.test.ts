import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { BufferPool } from '../../src/graph/buffer-pool.ts';
import { CountBudget } from '../../src/graph/count-budget.ts';
import { ObjectFrontier } from '../../src/graph/frontier.ts';
import { live } from '../../src/graph/live.ts';
import type { ObjectDescriptor, ObjectRef } from '../../src/graph/object.ts';
import { dropStep, type ScanStep } from '../../src/graph/step.ts';
import { checkLeaks } from '../support/graph/no-leaks.ts';

checkLeaks();

function descriptor(idx: number): ObjectDescriptor {
  return { path: `file-${idx}`, size_hint: 10, object_id: { source: 0, idx, entry: 0 }, source_id: 0 };
}

function frontierOf(capacity: number, depthMax = 0): ObjectFrontier {
  return new ObjectFrontier(CountBudget.create(capacity), depthMax);
}

test('frontier_try_acquire_does_not_block', () => {
  const frontier = frontierOf(2);
  const first = frontier.tryAcquireContext(descriptor(0), 0)!;
  const second = frontier.tryAcquireContext(descriptor(1), 0)!;
  assert.equal(frontier.tryAcquireContext(descriptor(2), 0), null);
  assert.deepEqual([frontier.inFlight, frontier.available, frontier.capacity], [2, 0, 2]);
  first[Symbol.dispose]();
  const third = frontier.tryAcquireContext(descriptor(2), 0);
  assert.notEqual(third, null);
  second[Symbol.dispose]();
  third?.[Symbol.dispose]();
  assert.equal(frontier.inFlight, 0);
});

test('object_ctx_releases_permit_on_drop', () => {
  const frontier = frontierOf(1);
  {
    using object = frontier.tryAcquireContext(descriptor(0), 0)!;
    assert.equal(object.context.descriptor.path, 'file-0');
    assert.equal(frontier.available, 0);
  }
  assert.equal(frontier.available, 1);
});

test('multi_chunk_object_permit_lifetime', () => {
  const frontier = frontierOf(1);
  const pool = new BufferPool({ buffers_max: 2, buffer_bytes: 16, allocate: (length) => new Uint8Array(length) });
  const fetch0 = frontier.tryAcquireContext(descriptor(0), 0)!;
  const { context } = fetch0;
  const scan = (object: ObjectRef, base_offset: number, last: boolean): ScanStep<never> => {
    const buffer = pool.tryAcquire()!;
    return { kind: 'scan', object, buffer, base_offset, length: 16, prefix_length: 0, last };
  };
  const scan0 = scan(fetch0.clone(), 0, false);
  const fetch1 = fetch0.clone();
  fetch0[Symbol.dispose]();
  const scan1 = scan(fetch1.clone(), 16, true);
  fetch1[Symbol.dispose]();
  assert.equal(context.references, 2);
  assert.deepEqual({ ...live }, { contexts: 1, references: 2, buffers: 2 });
  assert.equal(pool.tryAcquire(), null);
  dropStep(scan0);
  assert.equal(frontier.available, 0);
  dropStep(scan1);
  assert.equal(frontier.available, 1);
});

test('concurrent_object_completion', async () => {
  const threads = 10;
  const budget = CountBudget.create(7, threads + 1);
  const entry = new URL('../support/graph/permit-thread.ts', import.meta.url);
  const workers = Array.from({ length: threads }, (_, i) => {
    return new Worker(entry, { workerData: { memory: budget.memory, owner: i + 1, objects: 10 } });
  });
  const answers = await Promise.all(workers.map(async (worker) => (await once(worker, 'message')) as [unknown]));
  await Promise.all(workers.map((worker) => worker.terminate()));
  for (const [answer] of answers) {
    assert.deepEqual(answer, { completed: 10, live: { contexts: 0, references: 0, buffers: 0 } });
  }
  assert.equal(budget.available, 7);
  assert.ok(budget.peak <= 7, `${budget.peak} permits were out at once`);
});

test('a reference is released once, and used only before', () => {
  const frontier = frontierOf(1);
  const object = frontier.tryAcquireContext(descriptor(0), 0)!;
  object[Symbol.dispose]();
  assert.throws(() => object[Symbol.dispose](), /already released/);
  assert.throws(() => object.clone(), /already released/);
  assert.throws(() => object.context, /already released/);
  assert.equal(frontier.available, 1);
});

test("an object's work is notified of its end after the permit is free", () => {
  const frontier = frontierOf(1);
  const object = frontier.tryAcquireContext(descriptor(0), 0)!;
  const seen: number[] = [];
  object.context.work = { onReleased: () => void seen.push(frontier.available) };
  const other = object.clone();
  object[Symbol.dispose]();
  assert.deepEqual(seen, []);
  other[Symbol.dispose]();
  assert.deepEqual(seen, [1]);
});

test('a permit moves with its object to another owner, which releases it', () => {
  const budget = CountBudget.create(2, 2);
  const here = new ObjectFrontier(budget, 0);
  const there = new ObjectFrontier(CountBudget.attach(budget.memory, 1), 0);
  const object = here.tryAcquireContext(descriptor(3), 0)!;
  const shared = object.clone();
  assert.throws(() => object.detach(), /2 references/);
  shared[Symbol.dispose]();
  const moved = object.detach();
  budget.move(0, 1, 1);
  assert.equal(budget.inUse, 1);
  there.adopt(moved, 0)[Symbol.dispose]();
  assert.equal(budget.inUse, 0);
  assert.throws(() => budget.move(0, 1, 1), /does not hold/);
  assert.throws(() => budget.release(), /not held/);
});

test('objects leave one permit to each deeper level', () => {
  const frontier = frontierOf(4, 3);
  const chain: ObjectRef[] = [];
  for (let depth = 0; depth <= 3; depth++) {
    const object = frontier.tryAcquireContext(descriptor(depth), depth);
    assert.notEqual(object, null, `depth ${depth} finds a permit while all above hold theirs`);
    chain.push(object!);
    if (depth < 3) assert.equal(frontier.tryAcquireContext(descriptor(9), depth), null);
  }
  for (const object of chain) object[Symbol.dispose]();
  assert.throws(() => frontierOf(3, 3), /capacity/);
  assert.throws(() => frontier.tryAcquireContext(descriptor(0), 4), /depth/);
});

test('a producer outside waits for its permit, or until it is aborted', async () => {
  const frontier = frontierOf(1);
  const object = frontier.tryAcquireContext(descriptor(0), 0)!;
  const waiting = frontier.acquire(descriptor(1), 0);
  const stopping = new AbortController();
  const stopped = frontier.acquire(descriptor(2), 0, stopping.signal);
  stopping.abort(new Error('enough'));
  await assert.rejects(stopped, /enough/);
  object[Symbol.dispose]();
  (await waiting)[Symbol.dispose]();
  assert.equal(frontier.available, 1);
});

test('an executor is notified when a refused object would fit', async () => {
  const frontier = frontierOf(2, 1);
  assert.equal(frontier.whenRefusedFits(), null);
  const outer = frontier.tryAcquireContext(descriptor(0), 0)!;
  const inner = frontier.tryAcquireContext(descriptor(1), 1)!;
  assert.equal(frontier.tryAcquireContext(descriptor(2), 1), null);
  const fits = frontier.whenRefusedFits();
  inner[Symbol.dispose]();
  await fits;
  outer[Symbol.dispose]();
});

test('permits of a dead owner become free again', () => {
  const budget = CountBudget.create(3, 2);
  const other = CountBudget.attach(budget.memory, 1);
  assert.ok(other.tryAcquire() && other.tryAcquire() && budget.tryAcquire());
  assert.equal(budget.reclaim(1), 2);
  assert.equal(budget.available, 2);
  budget.release();
  assert.equal(budget.peak, 3);
});
