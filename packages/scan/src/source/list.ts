import { type Stats, statSync } from 'node:fs';
import { EnumCursor } from '../graph/cursor.ts';
import type { Problem } from '../result.ts';
import { displayOf } from './byte-path.ts';
import { atPath } from './deep-path.ts';
import { notAFile } from './file-opener.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from './port.ts';

/** Lists user-named files in the given order. Links, pipes and block devices are opened. */
export class ListSource implements ObjectSource {
  readonly name: string;
  readonly #locators: readonly string[];

  /** @param locators bytes of the paths, as latin1 strings */
  constructor(name: string, locators: readonly string[]) {
    this.name = name;
    this.#locators = locators;
  }

  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch {
    const position = cursor.take();
    const objects: DiscoveredObject[] = [];
    const problems: Problem[] = [];
    if (position.at === 'done') return { objects, problems, cursor: EnumCursor.done() };
    if (position.at === 'continue' && position.state.type !== 'offset')
      throw new Error(`${this.name}: the cursor belongs to another source (${position.state.type})`);
    const from = position.at === 'continue' && position.state.type === 'offset' ? position.state.offset : 0;
    const to = Math.min(from + limit, this.#locators.length);
    for (const locator of this.#locators.slice(from, to)) {
      const found = inspect(locator);
      if ('locator' in found) objects.push(found);
      else problems.push(found);
    }
    const isDone = to >= this.#locators.length;
    return {
      objects,
      problems,
      cursor: isDone ? EnumCursor.done() : EnumCursor.continue({ type: 'offset', offset: to }),
    };
  }

  close(): void {
    // There is nothing to release.
  }
}

function inspect(locator: string): DiscoveredObject | Problem {
  const path = displayOf(locator);
  let stats: Stats | undefined;
  try {
    stats = atPath(locator, (system) => statSync(system, { throwIfNoEntry: false }));
  } catch {
    // Opening it reports why it cannot be read.
    return { path, locator, size_hint: -1 };
  }
  if (stats === undefined) return { code: 'vanished', path, message: 'it does not exist', extent: 'skipped' };
  if (stats.isDirectory() || stats.isCharacterDevice()) return notAFile(path, stats);
  // Files in /proc report size 0 but have content.
  return { path, locator, size_hint: stats.isFile() && stats.size > 0 ? stats.size : -1 };
}
