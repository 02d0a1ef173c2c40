import { EnumCursor, type CursorState } from '../../graph/cursor.ts';
import type { EnumerationBatch, ObjectSource } from '../port.ts';
import { Walk, type WalkOptions, type WalkSink } from './walk.ts';

/** Maximum entries visited per call, so that a call over many directories without files ends soon. */
const STEPS_MAX = 4096;

/** Lists a directory recursively. Keeps only the names in the directories from the root to the current position. */
export class DirectorySource implements ObjectSource {
  readonly name: string;
  readonly #options: WalkOptions;
  #walk: Walk | null = null;
  /** The cursor that was returned for the walk's current position. */
  #state: CursorState | null = null;

  /** @param name for display */
  constructor(name: string, options: WalkOptions) {
    this.name = name;
    this.#options = options;
  }

  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch {
    const position = cursor.take();
    const batch: WalkSink = { objects: [], problems: [] };
    if (position.at === 'done') return { ...batch, cursor: EnumCursor.done() };
    const walk = this.#walkAt(position.at === 'continue' ? position.state : null, batch);
    for (let steps = 0; !walk.isDone && batch.objects.length < limit; steps += 1) {
      if (steps >= STEPS_MAX && walk.hasPosition) break;
      walk.step(batch);
    }
    if (walk.isDone) {
      this.close();
      return { ...batch, cursor: EnumCursor.done() };
    }
    this.#state = { type: 'fs_directory', after: walk.position() };
    return { ...batch, cursor: EnumCursor.continue(this.#state) };
  }

  close(): void {
    this.#walk = null;
    this.#state = null;
  }

  #walkAt(state: CursorState | null, sink: WalkSink): Walk {
    if (state !== null && state === this.#state && this.#walk !== null) return this.#walk;
    if (state !== null && state.type !== 'fs_directory')
      throw new Error(`${this.name}: the cursor belongs to another source (${state.type})`);
    this.#walk = this.#begin();
    if (state !== null && state.after.length > 0) this.#walk.seek(state.after, sink);
    return this.#walk;
  }

  #begin(): Walk {
    try {
      return new Walk(this.#options);
    } catch (error) {
      throw new Error(`${this.name} cannot be listed: ${(error as Error).message}`, { cause: error });
    }
  }
}
