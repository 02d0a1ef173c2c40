import type { BufferHandle } from './buffer-pool.ts';
import type { EnumCursor } from './cursor.ts';
import type { ObjectRef } from './object.ts';

/** The listing of an Enumerate step: a source, or the entries of an archive. */
export interface Enumerable {
  /** Called if the step that lists it is dropped before it is done. */
  onDropped(): void;
}

/**
 * Lists objects after the cursor. `object` is the archive that contains the entries; it keeps its permit until they
 * are done.
 */
export interface EnumerateStep<S extends Enumerable> {
  kind: 'enumerate';
  source: S;
  cursor: EnumCursor;
  object: ObjectRef | null;
}

/** Reads the chunk at `offset`. */
export interface FetchSyncStep {
  kind: 'fetch_sync';
  object: ObjectRef;
  offset: number;
}

/** Scans one chunk. `buffer[0..prefix_length)` was scanned before; `buffer[0]` is at `base_offset` of the object. */
export interface ScanChunkStep {
  kind: 'scan';
  object: ObjectRef;
  buffer: BufferHandle;
  base_offset: number;
  /** Valid bytes, prefix included. */
  length: number;
  prefix_length: number;
  /** True for the last chunk of the object. */
  last: boolean;
}

/**
 * One unit of work. A step exclusively owns its references and its buffer; the code that takes it over passes them on
 * or releases them.
 */
export type ScanStep<S extends Enumerable> = EnumerateStep<S> | FetchSyncStep | ScanChunkStep;

/** Releases the resources of a step that will never run. */
export function dropStep<S extends Enumerable>(step: ScanStep<S>): void {
  switch (step.kind) {
    case 'enumerate':
      step.source.onDropped();
      step.object?.[Symbol.dispose]();
      return;
    case 'fetch_sync':
      step.object[Symbol.dispose]();
      return;
    case 'scan':
      step.buffer[Symbol.dispose]();
      step.object[Symbol.dispose]();
  }
}
