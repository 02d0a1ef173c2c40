import { closeSync, openSync, readSync } from 'node:fs';
import { EnumCursor } from '../../graph/cursor.ts';
import type { SourceSpec } from '../../options.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../port.ts';
import { DiffParser } from './diff-parser.ts';

export type DiffSpec = Extract<SourceSpec, { type: 'diff' }>;

const READ_BYTES = 256 * 1024;

interface Section {
  path: string | null;
  from: number;
  hasAdded: boolean;
}

/** Lists the files of a diff to which it adds lines, each as often as it occurs (as in the output of `git log -p`). */
export class DiffSource implements ObjectSource {
  readonly name: string;
  readonly #descriptor: number;
  readonly #buffer = Buffer.allocUnsafe(READ_BYTES);
  #isClosed = false;

  constructor({ name, file }: DiffSpec) {
    this.name = name;
    this.#descriptor = openSync(file, 'r');
  }

  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch {
    const position = cursor.take();
    if (position.at === 'done') return { objects: [], problems: [], cursor: EnumCursor.done() };
    if (position.at === 'continue' && position.state.type !== 'offset')
      throw new Error(`${this.name}: the cursor belongs to another source (${position.state.type})`);
    const start = position.at === 'continue' && position.state.type === 'offset' ? position.state.offset : 0;
    const { objects, next } = this.#list(start, limit);
    const end = next === null ? EnumCursor.done() : EnumCursor.continue({ type: 'offset', offset: next });
    return { objects, problems: [], cursor: end };
  }

  /** Lists from the headers of a file on; `next`: those of the first file that is not listed, null after the last. */
  #list(start: number, limit: number): { objects: DiscoveredObject[]; next: number | null } {
    const objects: DiscoveredObject[] = [];
    const found: { section: Section | null; next: number | null } = { section: null, next: null };
    const finish = (end: number): void => {
      const { section } = found;
      if (section === null || section.path === null || !section.hasAdded) return;
      objects.push({ path: section.path, locator: `${section.from}-${end}`, size_hint: end - section.from });
    };
    const parser = new DiffParser({
      file: (path, from) => {
        if (found.next !== null) return;
        finish(start + from);
        if (objects.length === limit) found.next = start + from;
        found.section = { path, from: start + from, hasAdded: false };
      },
      added: () => {
        if (found.section !== null) found.section.hasAdded = true;
      },
    });
    let at = start;
    while (found.next === null) {
      const count = readSync(this.#descriptor, this.#buffer, 0, READ_BYTES, at);
      if (count === 0) {
        parser.end();
        finish(at);
        return { objects, next: null };
      }
      parser.push(this.#buffer.subarray(0, count));
      at += count;
    }
    return { objects, next: found.next };
  }

  close(): void {
    if (!this.#isClosed) closeSync(this.#descriptor);
    this.#isClosed = true;
  }
}
