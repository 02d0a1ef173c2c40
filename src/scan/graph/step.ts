import type { BufferHandle } from './buffer-pool.ts';
import type { EnumCursor } from './cursor.ts';
import type { ObjectRef } from './object.ts';

/** What an Enumerate step lists: a source, or the entries of an archive. */
export interface Enumerable {
  /** The step that listed it is dropped before it was done. */
  onDropped(): void;
}

/** Lists objects after the cursor. `object` is the archive whose entries these are; it keeps its permit until they are done. */
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

/** Looks at one chunk. `buffer[0..prefix_length)` was seen before; `buffer[0]` stands at `base_offset` of the object. */
export interface ScanChunkStep {
  kind: 'scan';
  object: ObjectRef;
  buffer: BufferHandle;
  base_offset: number;
  /** Valid bytes, prefix included. */
  length: number;
  prefix_length: number;
  /** The chunk that ends the object. */
  last: boolean;
}

/** One unit of work. A step owns its references and its buffer alone: who takes the step over passes them on or releases them. */
export type ScanStep<S extends Enumerable> = EnumerateStep<S> | FetchSyncStep | ScanChunkStep;

/** Releases what a step holds that will never run. */
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
