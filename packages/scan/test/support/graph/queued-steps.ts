/**
 * Prints the heap bytes per queued step, by kind, as JSON. Run with `--expose-gc`; the argument is the number of
 * queued steps.
 */
import { BufferPool } from '../../../src/graph/buffer-pool.ts';
import { CountBudget } from '../../../src/graph/count-budget.ts';
import { EnumCursor } from '../../../src/graph/cursor.ts';
import { Executor } from '../../../src/graph/executor.ts';
import { ObjectFrontier } from '../../../src/graph/frontier.ts';
import type { ObjectRef } from '../../../src/graph/object.ts';
import type { Enumerable, ScanStep } from '../../../src/graph/step.ts';

const COUNT = Number(process.argv[2]);
const PATH = 'directory/file';

const source: Enumerable = { onDropped: () => undefined };
const shared = new Uint8Array(1);
const pool = new BufferPool({ buffers_max: COUNT, buffer_bytes: 1, allocate: () => shared });
const frontier = new ObjectFrontier(CountBudget.create(COUNT), 0);

function objectOf(idx: number): ObjectRef {
  const descriptor = { path: PATH, size_hint: idx, object_id: { source: 0, idx, entry: 0 }, source_id: 0 };
  return frontier.tryAcquireContext(descriptor, 0)!;
}

function heapBytes(): number {
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

/** Returns the heap per step while all of them are queued, and drops them. */
function bytesPerStep(stepOf: (n: number) => ScanStep<Enumerable>): number {
  const never = (): never => {
    throw new Error('no step is run');
  };
  const executor = new Executor<Enumerable>(
    { enumerate: never, fetchSync: never, scan: never },
    { onReady: never, onDefect: never },
  );
  const before = heapBytes();
  for (let n = 0; n < COUNT; n++) executor.spawn(stepOf(n));
  const bytes = (heapBytes() - before) / COUNT;
  if (executor.queued !== COUNT) throw new Error(`${executor.queued} steps are queued`);
  executor.abort();
  return bytes;
}

const one = objectOf(0);
const figures = {
  enumerate: bytesPerStep((n) => {
    const cursor = EnumCursor.continue({ type: 'offset', offset: n });
    return { kind: 'enumerate', source, cursor, object: null };
  }),
  fetch_sync: bytesPerStep((n) => ({ kind: 'fetch_sync', object: one.clone(), offset: n })),
  scan: bytesPerStep((n) => ({
    kind: 'scan',
    object: one.clone(),
    buffer: pool.tryAcquire()!,
    base_offset: n,
    length: 1,
    prefix_length: 0,
    last: false,
  })),
  object: 0,
};
one[Symbol.dispose]();
/** A FetchSync step that is the only one of its object, to measure the object itself. */
figures.object = bytesPerStep((n) => ({ kind: 'fetch_sync', object: objectOf(n), offset: 0 })) - figures.fetch_sync;
process.stdout.write(JSON.stringify(figures));
