import { statSync } from 'node:fs';

import { EnumCursor } from '@heddle/scan/graph/cursor';
import type { PathSlice, SourceSpec } from '@heddle/scan/options';
import { pathFilter } from '@heddle/scan/path-filter';
import { atPath } from '@heddle/scan/source/deep-path';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '@heddle/scan/source/port';
import { rootLocatorOf } from '@heddle/scan/source/byte-path';
import { openSource } from '@heddle/scan/source/open-source';
import { placeOf } from '@heddle/scan/source/slice';
import type { Partition } from './input.ts';
import { PartMeter, type Part } from './slicer.ts';

export interface PartitionOptions {
  sources: readonly SourceSpec[];
  exclude: readonly string[];
  include: readonly string[];
  partition: Partition;
  signal: AbortSignal;
  /** Called after each batch. */
  counted: (objects: number) => Promise<unknown> | undefined;
}

/** Objects per listing batch. */
const BATCH_OBJECTS = 256;

/**
 * Divides sources into parts by listing them, with one batch in memory at a time. Parts of a directory are named by
 * their boundaries, so that together they cover all of it despite concurrent changes. The last permitted part takes
 * the rest, unlisted.
 */
export async function* partition(options: PartitionOptions): AsyncGenerator<Part, void, undefined> {
  let made = 0;
  for (const [index, spec] of options.sources.entries()) {
    const later = options.sources.slice(index + 1);
    const last = options.partition.tasks_max - made;
    if (last <= 1) {
      yield { sources: [spec, ...later], objects: 0, bytes: 0 };
      return;
    }
    for await (const part of partsOf(spec, options, last)) {
      made += 1;
      if (made < options.partition.tasks_max) yield part;
      else {
        yield { ...part, sources: [...part.sources, ...later] };
        return;
      }
    }
  }
}

/** Yields at most `tasksMax` parts of one source; the last one extends to the end. */
function partsOf(spec: SourceSpec, options: PartitionOptions, tasksMax: number): AsyncGenerator<Part, void, undefined> {
  switch (spec.type) {
    case 'path':
      return partsOfDirectory(spec, options, tasksMax);
    case 'list':
      return partsOfList(spec, options, tasksMax);
    case 'git':
    case 'staged':
    case 'diff':
    case 'azure':
    case 'gcs':
    case 'github':
    case 'gitlab':
    case 'image':
    case 's3':
    case 'stdin':
      // A history is read as one; pages of a bucket have opaque tokens that cannot be compared.
      return once({ sources: [spec], objects: 0, bytes: 0 });
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- one of several that are waited for
async function* once(part: Part): AsyncGenerator<Part, void, undefined> {
  yield part;
}

type PathSpec = Extract<SourceSpec, { type: 'path' }>;

async function* partsOfDirectory(
  spec: PathSpec,
  options: PartitionOptions,
  tasksMax: number,
): AsyncGenerator<Part, void, undefined> {
  const root = rootLocatorOf(spec);
  const meter = new PartMeter(options.partition);
  const end = spec.slice?.through ?? null;
  let from = spec.slice?.from ?? null;
  let latest: readonly string[] | null = null;
  let made = 0;
  for await (const { locator } of objectsOf(spec, options)) {
    const size = sizeOf(locator);
    if (latest !== null && meter.isFullFor(size)) {
      made += 1;
      // One task is reserved for the rest.
      if (made >= tasksMax) break;
      yield partOf(spec, { from, through: latest }, meter);
      from = latest;
      meter.reset();
    }
    latest = placeOf({ locator }, root);
    meter.add(size);
  }
  yield partOf(spec, { from, through: end }, meter);
}

function partOf(spec: PathSpec, slice: PathSlice, { objects, bytes }: PartMeter): Part {
  const { slice: _, ...whole } = spec;
  const isWhole = slice.from === null && slice.through === null;
  return { sources: [isWhole ? whole : { ...whole, slice }], objects, bytes };
}

async function* partsOfList(
  spec: Extract<SourceSpec, { type: 'list' }>,
  { partition: { objects_max }, counted }: PartitionOptions,
  tasksMax: number,
): AsyncGenerator<Part, void, undefined> {
  const size = Math.max(objects_max, Math.ceil(spec.paths.length / tasksMax));
  for (let at = 0; at < spec.paths.length; at += size) {
    const paths = spec.paths.slice(at, at + size);
    yield { sources: [{ ...spec, paths }], objects: paths.length, bytes: 0 };
    await counted(paths.length);
  }
}

/** Returns a size, which the walk does not query. An inaccessible file counts nothing; the scan reports it. */
function sizeOf(locator: string): number {
  try {
    return atPath(locator, (path) => statSync(path).size);
  } catch {
    return 0;
  }
}

/** Lists what will be scanned of a source, with one batch in memory at a time. */
async function* objectsOf(
  spec: SourceSpec,
  { exclude, include, signal, counted }: PartitionOptions,
): AsyncGenerator<DiscoveredObject, void, undefined> {
  const wanted = pathFilter({ include, exclude });
  const walked = pathFilter({ include: [], exclude });
  const source: ObjectSource = await openSource(spec, { prune: (path) => !walked(path) });
  try {
    for (let cursor = EnumCursor.start(); !cursor.isDone;) {
      signal.throwIfAborted();
      const batch: EnumerationBatch = await source.enumerate(cursor, BATCH_OBJECTS);
      const objects = batch.objects.filter(({ path }) => wanted(path));
      yield* objects;
      await counted(objects.length);
      cursor = batch.cursor;
    }
  } finally {
    await source.close();
  }
}
