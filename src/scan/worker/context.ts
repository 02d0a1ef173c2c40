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
import type { ObjectReading, ReadingOwner, RootObject } from './object-reading.ts';

/** How archives are known and read. */
export interface ArchiveFormats {
  detect(path: string, head: Uint8Array): ArchiveFormat | null;
  /** The name of a format that is known and not read; null for anything else. */
  detectUnsupported(head: Uint8Array, path: string): string | null;
  /** What looks for an archive behind a program that begins so; null for anything else. */
  stubSearchOf(head: Uint8Array): StubSearch | null;
  open(format: ArchiveFormat, reader: ObjectReader, context: ArchiveContext): ArchiveReader | Promise<ArchiveReader>;
}

/** Where results go. */
export interface ResultSink {
  /** Takes over what was found so far of an object that is still being read. */
  part(root: RootObject): void;
  completed(root: RootObject): void;
  /** The policy is to end the run for this. */
  failRun(problem: Problem): void;
}

export interface ScanLimits {
  /** Bytes of a chunk, without overlap. */
  chunk_bytes: number;
  /** 0: none. */
  object_bytes_max: number;
  archives: ArchiveOptions;
}

/** What the handlers of one thread's steps share. */
export interface ScanContext {
  readonly limits: ScanLimits;
  readonly detector: Detector;
  readonly formats: ArchiveFormats;
  readonly pool: BufferPool;
  readonly frontier: ObjectFrontier;
  readonly executor: Executor<ArchiveListing>;
  readonly sink: ResultSink;
  readonly owner: ReadingOwner;
  /** True where an entry of an archive is left out by its path. */
  isExcluded(path: string): boolean;
  /** Closes the object's reader, says what went wrong with it, and releases the reference. */
  readonly finish: (object: ObjectRef) => null | Promise<null>;
  /** Keeps an eye on something that is being closed although its object has gone. */
  closing(work: unknown): void;
  /** Notes a problem of an object; ends the run where it is one of an archive and the policy says so. */
  report(root: RootObject, problem: Problem): void;
  /** The object that the thread is working on. */
  mark(reading: ObjectReading): void;
}
