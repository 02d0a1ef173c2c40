import type { EnumCursor } from '../graph/cursor.ts';
import type { Commit, Problem } from '../result.ts';

/** An object that a source found. */
export interface DiscoveredObject {
  /** For display and findings; slashes, as UTF-8. */
  path: string;
  /**
   * Argument of the source's opener: the bytes of a file's path as a latin1 string (paths need not be UTF-8), a blob's
   * id, or a key.
   */
  locator: string;
  /** Size as far as known without opening it; -1 if unknown. */
  size_hint: number;
  commit?: Commit;
}

export interface EnumerationBatch {
  objects: readonly DiscoveredObject[];
  problems: readonly Problem[];
  /** Where to continue; `done` after the last object. */
  cursor: EnumCursor;
  /** True if the source continues only once all objects so far are scanned, since it then removes them. */
  removes?: boolean;
}

/**
 * Lists objects in a stable order: the same tree gives the same objects in the same order. Lives in the thread that
 * runs the scan. A fault in one directory or page is a problem in the batch, never an exception; a fault of the whole
 * source (no such repository) rejects with an `Error` whose message includes the remedy.
 */
export interface ObjectSource {
  /** For messages: the path, `stdin`, `s3://bucket/prefix`. */
  readonly name: string;
  /** What the listing waits for, for the progress; null if it does not wait for long. */
  readonly status?: string | null;
  /**
   * Returns at most `limit` objects after `cursor`; may return fewer, or none, with an advanced cursor. Takes
   * ownership of the cursor.
   */
  enumerate(cursor: EnumCursor, limit: number): EnumerationBatch | Promise<EnumerationBatch>;
  close(): void | Promise<void>;
}

/** Opens the objects of a source. Lives in a worker thread; created from the same specification as the source. */
export interface ObjectOpener {
  /** Rejects or throws `ObjectFault` if the object cannot be read. */
  open(object: { path: string; locator: string }): ObjectReader | Promise<ObjectReader>;
  close(): void | Promise<void>;
}

/** Reads one object. */
export interface ObjectReader {
  /** Size at opening; -1 if unknown. */
  readonly size: number;
  /**
   * `carry`: read once front to back, the overlap is carried from chunk to chunk; `range`: readable at any offset, the
   * overlap is read again.
   */
  readonly access: 'carry' | 'range';
  /**
   * Identifies the content, if another reader of the object can read the same: with equal versions, both do. Only for
   * `range` readers of a known size.
   */
  readonly version?: string | undefined;
  /**
   * Reads up to `length` bytes at `offset` of the object into `target` from `start`. 0 means the end; a short read
   * does not. A `carry` reader receives consecutive offsets. Throws or rejects with `ObjectFault`.
   */
  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number>;
  /** Aborts reads that wait for data which may never arrive. `close` still follows. */
  interrupt?(): void;
  /**
   * Called exactly once, after the last read. Returns a problem that became apparent only at the end, such as a
   * change.
   */
  close(): Problem | undefined | Promise<Problem | undefined>;
}

/** An object that could not be read completely. Never ends a scan. */
export class ObjectFault extends Error {
  readonly problem: Problem;

  constructor(problem: Problem, cause?: unknown) {
    super(problem.message, cause === undefined ? undefined : { cause });
    this.name = 'ObjectFault';
    this.problem = problem;
  }
}
