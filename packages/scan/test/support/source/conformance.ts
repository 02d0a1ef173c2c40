import assert from 'node:assert/strict';
import { it } from 'node:test';

import { EnumCursor } from '../../../src/graph/cursor.ts';
import type { CursorState } from '../../../src/graph/cursor.ts';
import type { Problem } from '../../../src/result.ts';
import type { DiscoveredObject, ObjectReader, ObjectSource } from '../../../src/source/port.ts';

export interface Listing {
  objects: DiscoveredObject[];
  problems: Problem[];
  /** The cursor after each batch. */
  cursors: (CursorState | 'start' | 'done')[];
  /** The number of objects returned by then. */
  counts: number[];
}

/** Lists everything that a source has from `from` on, in batches of `limit`. */
export async function listAll(
  source: ObjectSource,
  limit = 32,
  from: CursorState | 'start' | 'done' = 'start',
): Promise<Listing> {
  const listing: Listing = { objects: [], problems: [], cursors: [], counts: [] };
  let cursor = cursorOf(from);
  while (!cursor.isDone) {
    const given = cursor;
    const batch = await source.enumerate(given, limit);
    assert.ok(given.isMoved, 'the cursor was taken over');
    assert.ok(batch.objects.length <= limit, `${batch.objects.length} objects, where ${limit} were asked for`);
    listing.objects.push(...batch.objects);
    listing.problems.push(...batch.problems);
    cursor = batch.cursor;
    const state = structuredClone(cursor.toJSON());
    assert.notDeepEqual(state, listing.cursors.at(-1), 'the cursor advances');
    listing.cursors.push(state);
    listing.counts.push(listing.objects.length);
  }
  return listing;
}

function cursorOf(state: CursorState | 'start' | 'done'): EnumCursor {
  if (state === 'start') return EnumCursor.start();
  return state === 'done' ? EnumCursor.done() : EnumCursor.continue(state);
}

/** Reads a whole object, `length` bytes at a time. */
export async function readAll(reader: ObjectReader, length = 64 * 1024): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let offset = 0; ;) {
    const target = Buffer.alloc(length + 3);
    const count = await reader.read(target, 3, length, offset);
    assert.ok(count <= length);
    if (count === 0) return Buffer.concat(pieces);
    pieces.push(target.subarray(3, 3 + count));
    offset += count;
  }
}

export interface ConformanceOptions {
  name: string;
  /** Creates a new source over the same content at each call, like another process. */
  open: () => ObjectSource | Promise<ObjectSource>;
  /** Objects that it contains. */
  objects: number;
}

/** The contract of every source. */
export function conforms({ name, open, objects }: ConformanceOptions): void {
  it(`${name}: lists the same objects in the same order for every limit`, async () => {
    const whole = await fresh(open, (source) => listAll(source, 1000));
    assert.equal(whole.objects.length, objects);
    for (const limit of [1, 2, 7, 32]) {
      const pieces = await fresh(open, (source) => listAll(source, limit));
      assert.deepEqual(pieces.objects, whole.objects, `limit ${limit}`);
      assert.deepEqual(pieces.problems, whole.problems, `limit ${limit}`);
    }
  });

  it(`${name}: resumes from every cursor, in any process`, async () => {
    const whole = await fresh(open, (source) => listAll(source, 3));
    for (const [index, state] of whole.cursors.entries()) {
      const rest = await fresh(open, (source) => listAll(source, 5, structuredClone(state)));
      assert.deepEqual(rest.objects, whole.objects.slice(whole.counts[index]), JSON.stringify(state));
    }
    const again = await fresh(open, async (source) => {
      await listAll(source, 4);
      return await listAll(source, 4, whole.cursors[0]);
    });
    assert.deepEqual(again.objects, whole.objects.slice(whole.counts[0]), 'back to an earlier cursor');
  });

  it(`${name}: returns nothing after the end, and closes idempotently`, async () => {
    const source = await open();
    const batch = await source.enumerate(EnumCursor.done(), 5);
    assert.deepEqual([batch.objects, batch.problems, batch.cursor.isDone], [[], [], true]);
    await source.enumerate(EnumCursor.start(), 1);
    await source.close();
    await source.close();
  });
}

async function fresh<T>(open: ConformanceOptions['open'], use: (source: ObjectSource) => Promise<T>): Promise<T> {
  const source = await open();
  try {
    return await use(source);
  } finally {
    await source.close();
  }
}

/** Reads a whole object and closes it; a problem on close is an error. */
export async function readAndClose(reader: ObjectReader): Promise<string> {
  try {
    return (await readAll(reader)).toString();
  } finally {
    assert.equal(await reader.close(), undefined);
  }
}
