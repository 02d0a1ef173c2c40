/** Where a listing stands, so that it can go on later, also in another process. */
export type CursorState =
  /**
   * A walk through directories, depth first, names in the order of their bytes: the names (latin1 of their bytes) from
   * the root down to what was handed out last. Everything after it is still to come.
   */
  | { type: 'fs_directory'; after: readonly string[] }
  /** Items, or bytes, of a source that counts. */
  | { type: 'offset'; offset: number }
  /** A page of a listing; `skip` objects of it were handed out already. */
  | { type: 'token'; token: string | null; skip: number };

type Position = { at: 'start' } | { at: 'continue'; state: CursorState } | { at: 'done' };

/**
 * Moved, never copied: who takes a cursor over calls `take`, after which the one that was given up answers nothing but
 * an error. So no two steps can ever go on from the same place and list an object twice.
 */
export class EnumCursor {
  #position: Position | null;

  private constructor(position: Position) {
    this.#position = position;
  }

  static start(): EnumCursor {
    return new EnumCursor({ at: 'start' });
  }

  static continue(state: CursorState): EnumCursor {
    return new EnumCursor({ at: 'continue', state });
  }

  static done(): EnumCursor {
    return new EnumCursor({ at: 'done' });
  }

  get isDone(): boolean {
    return this.#position?.at === 'done';
  }

  get isMoved(): boolean {
    return this.#position === null;
  }

  /** The position, which this cursor gives up. A cursor that was moved throws: using it is a programmer's error. */
  take(): Position {
    const position = this.#position;
    if (position === null) throw new Error('cursor: it was moved; go on with the one that took it over');
    this.#position = null;
    return position;
  }

  /** What a state file keeps; the cursor stays usable. */
  toJSON(): CursorState | 'start' | 'done' {
    if (this.#position === null) throw new Error('cursor: it was moved; go on with the one that took it over');
    return this.#position.at === 'continue' ? this.#position.state : this.#position.at;
  }
}
