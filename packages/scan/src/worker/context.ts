import type { ArchiveContext } from '../archive/context.ts';
import type { StubSearch } from '../archive/embedded.ts';
import type { ArchiveFormat, ArchiveReader } from '../archive/port.ts';
import type { Detector } from '../detect/port.ts';
import type { BufferPool } from '../graph/buffer-pool.ts';
import type { Executor } from '../graph/executor.ts';
import type { ObjectFrontier } from '../graph/frontier.ts';
import type { ObjectRef } from '../graph/object.ts';
import type { ArchiveOptions } from '../options.ts';
import type { Problem } from '../result.ts';
import type { ObjectReader } from '../source/port.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { DividedObject } from './division.ts';
import type { ObjectReading, ReadingOwner, RootObject } from './object-reading.ts';
import type { SegmentQueue } from './segment-queue.ts';

/** Detects and opens archives. */
export interface ArchiveFormats {
  detect(path: string, head: Uint8Array): ArchiveFormat | null;
  /** Returns the name of a recognized but unsupported format; null for anything else. */
  detectUnsupported(head: Uint8Array): string | null;
  /** Returns the search for an archive embedded in a program with this beginning; null for anything else. */
  stubSearchOf(head: Uint8Array): StubSearch | null;
  open(format: ArchiveFormat, reader: ObjectReader, context: ArchiveContext): ArchiveReader | Promise<ArchiveReader>;
}

/** Receives results. */
export interface ResultSink {
  /** Takes over the findings so far of an object that is still being read. */
  part(root: RootObject): void;
  completed(root: RootObject): void;
  /** The policy demands the end of the run because of this problem. */
  failRun(problem: Problem): void;
}

export interface ScanLimits {
  /** Bytes of a chunk, without overlap. */
  chunkBytes: number;
  /** 0: no limit. */
  objectBytesMax: number;
  archives: ArchiveOptions;
}

/** State shared by the step handlers of one thread. */
export interface ScanContext {
  readonly limits: ScanLimits;
  readonly detector: Detector;
  readonly formats: ArchiveFormats;
  readonly pool: BufferPool;
  readonly frontier: ObjectFrontier;
  readonly executor: Executor<ArchiveListing>;
  readonly sink: ResultSink;
  readonly owner: ReadingOwner;
  /** Returns true if the path of an archive entry is excluded. */
  isExcluded(path: string): boolean;
  /** Closes the object's reader, reports its problem, and releases the reference. */
  readonly finish: (object: ObjectRef) => null | Promise<null>;
  /** Tracks a pending close whose object is already released. */
  closing(work: unknown): void;
  /** Records a problem of an object; ends the run if it concerns an archive and the policy demands it. */
  report(root: RootObject, problem: Problem): void;
  /** Sets the object that the thread is working on. */
  mark(reading: ObjectReading): void;
  /** Lets other threads help with an object whose first chunk was read; returns null if it is not worth it. */
  divide(reading: ObjectReading): SegmentQueue | null;
  /** The same for an entry of an archive of which `end` bytes were read: replaces its reader, unless it is not worth it. */
  divideStream(reading: ObjectReading, end: number): void;
  /** Scans segments of an object ahead, while this thread waits for another segment of it. */
  scanAhead(object: DividedObject): void;
}
