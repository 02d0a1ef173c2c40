import type { EnumCursor } from '../graph/cursor.ts';
import type { Commit, Problem } from '../result.ts';

/** What enumeration finds. */
export interface DiscoveredObject {
  /** For people and findings; slashes, as UTF-8. */
  path: string;
  /**
   * What the source's opener opens: bytes of a file's path as a latin1 string (paths need not be UTF-8), a blob's id,
   * a key.
   */
  locator: string;
  /** Bytes as far as known without opening it; -1 where unknown. */
  size_hint: number;
  commit?: Commit;
}

export interface EnumerationBatch {
  objects: readonly DiscoveredObject[];
  problems: readonly Problem[];
  /** Where to go on; `done` after the last object. */
  cursor: EnumCursor;
}

/**
 * Lists objects, in a stable order: the same tree gives the same objects in the same order. Lives in the thread that
 * runs the scan. A fault of one directory or page is a problem in the batch, never an exception; what ends the whole
 * source (no such repository) rejects with an `Error` whose message says what to do.
 */
export interface ObjectSource {
  /** For messages: the path, `stdin`, `s3://bucket/prefix`. */
  readonly name: string;
  /** At most `limit` objects after `cursor`; may give fewer, or none, with a cursor that has moved. Takes the cursor over. */
  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch | Promise<EnumerationBatch>;
  close(): void | Promise<void>;
}

/** Opens what a source found. Lives in a worker thread; made from the same specification as the source. */
export interface ObjectOpener {
  /** Rejects or throws `ObjectFault` where the object cannot be read. */
  open(object: { path: string; locator: string }): ObjectReader | Promise<ObjectReader>;
  close(): void | Promise<void>;
}

/** One object being read. */
export interface ObjectReader {
  /** Bytes when it was opened; -1 where unknown. */
  readonly size: number;
  /**
   * `carry`: read once from front to back, the overlap is carried from chunk to chunk; `range`: any offset can be read,
   * the overlap is read again.
   */
  readonly access: 'carry' | 'range';
  /**
   * Reads up to `length` bytes at `offset` of the object into `target` from `start`. 0 is the end; fewer than asked for
   * is not. A reader of `carry` is asked for offsets in order, without gaps. Throws or rejects with `ObjectFault`.
   */
  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number>;
  /** Ends reads that wait for data which may never come: nobody wants it any more. `close` still follows. */
  interrupt?(): void;
  /** After the last read, exactly once. What became apparent only at the end (it changed meanwhile) is returned. */
  close(): Problem | undefined | Promise<Problem | undefined>;
}

/** Why one object could not be read, or not to its end. Never ends a scan. */
export class ObjectFault extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, cause?: unknown) {
    super(problem.message, cause === undefined ? undefined : { cause });
    this.name = 'ObjectFault';
    this.problem = problem;
  }
}
