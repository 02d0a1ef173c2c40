import { EnumCursor } from '../graph/cursor.ts';
import type { PathSlice } from '../options.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from './port.ts';

/**
 * Lists a part of a directory walk: after one entry, up to another. Adjacent parts cover the whole walk even if files
 * come and go between their listings: each name belongs to exactly one part, whether or not it exists.
 */
export class SlicedWalk implements ObjectSource {
  readonly name: string;
  readonly #walk: ObjectSource;
  readonly #slice: PathSlice;
  readonly #root: string;

  /** @param root locator of the walk's root */
  constructor(walk: ObjectSource, slice: PathSlice, root: string) {
    this.name = walk.name;
    this.#walk = walk;
    this.#slice = slice;
    this.#root = root;
  }

  async enumerate(cursor: EnumCursor, limit: number): Promise<EnumerationBatch> {
    const batch = await this.#walk.enumerate(this.#within(cursor), limit);
    const { through } = this.#slice;
    if (through === null) return batch;
    const objects = batch.objects.filter((object) => isUpTo(placeOf(object, this.#root), through));
    if (objects.length === batch.objects.length && !isPast(batch.cursor, through)) return batch;
    return { objects, problems: batch.problems, cursor: EnumCursor.done() };
  }

  #within(cursor: EnumCursor): EnumCursor {
    const position = cursor.take();
    if (position.at === 'done') return EnumCursor.done();
    if (position.at === 'continue') return EnumCursor.continue(position.state);
    const { from } = this.#slice;
    return from === null ? EnumCursor.start() : EnumCursor.continue({ type: 'fs_directory', after: from });
  }

  close(): void | Promise<void> {
    return this.#walk.close();
  }
}

/** Names from the root of a walk down to an object. */
export function placeOf({ locator }: Pick<DiscoveredObject, 'locator'>, root: string): string[] {
  const prefix = root === '.' ? '' : root.endsWith('/') ? root : `${root}/`;
  return locator.slice(prefix.length).split('/');
}

/**
 * Returns true for an entry, everything before it, and everything below it: a walk that resumes after an entry skips
 * its descendants.
 */
function isUpTo(place: readonly string[], through: readonly string[]): boolean {
  const depth = place.findIndex((name, at) => at < through.length && name !== through[at]);
  return depth < 0 || place[depth]! < through[depth]!;
}

function isPast(cursor: EnumCursor, through: readonly string[]): boolean {
  const state = cursor.toJSON();
  if (typeof state === 'string' || state.type !== 'fs_directory') return false;
  const { after } = state;
  return !isUpTo(after, through) || (after.length === through.length && isUpTo(through, after));
}
