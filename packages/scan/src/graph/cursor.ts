/** The position of a listing, from which it can resume in any process. */
export type CursorState =
  /**
   * A walk through directories, depth first, names in the order of their bytes: the names (latin1 of their bytes) from
   * the root down to the last entry returned. Everything after it is still to come.
   */
  | { type: 'fs_directory'; after: readonly string[] }
  /** Items or bytes of a source that counts. */
  | { type: 'offset'; offset: number }
  /** A page of a listing; `skip` of its objects were already returned. */
  | { type: 'token'; token: string | null; skip: number };

type Position = { at: 'start' } | { at: 'continue'; state: CursorState } | { at: 'done' };

/**
 * A position that is moved, never copied: `take` transfers it, after which the old cursor throws. So no two steps can
 * continue from the same place and list an object twice.
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

  /** Moves the position out of this cursor. Throws if it was already moved, which is a programming error. */
  take(): Position {
    const position = this.#position;
    if (position === null) throw new Error('cursor: already moved; use the cursor that took it over');
    this.#position = null;
    return position;
  }

  /** Returns the position for a state file; the cursor stays usable. */
  toJSON(): CursorState | 'start' | 'done' {
    if (this.#position === null) throw new Error('cursor: already moved; use the cursor that took it over');
    return this.#position.at === 'continue' ? this.#position.state : this.#position.at;
  }
}
