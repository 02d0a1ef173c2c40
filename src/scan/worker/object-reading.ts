import type { RootBudget } from '../archive/context.ts';
import type { StubSearch } from '../archive/embedded.ts';
import type { ArchiveEntry, ArchiveFormat } from '../archive/port.ts';
import type { ObjectDetector } from '../detect/port.ts';
import { emptyMetrics } from '../graph/metrics.ts';
import type { ObjectId, ObjectRef, ObjectWork } from '../graph/object.ts';
import { findingBytes } from '../result-size.ts';
import type { Commit, Finding, Problem, TaskMetrics } from '../result.ts';
import type { ObjectOpener, ObjectReader } from '../source/port.ts';
import type { ArchiveListing } from './archive-listing.ts';

/** Findings of one object that may be on their way at once; then its reading pauses until they were handed on. */
const UNACKNOWLEDGED_MAX = 1000;

/** Findings of one object that are held while it is open whether the archive that they are in counts. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;

/** A top-level object with all that is inside it: what is found there comes out together, in order. */
export class RootObject {
  /** Its number in the run. */
  readonly index: number;
  readonly source: number;
  readonly path: string;
  readonly locator: string;
  readonly commit: Commit | undefined;
  readonly opener: ObjectOpener;
  /** Not sent yet. */
  findings: Finding[] = [];
  problems: Problem[] = [];
  readonly metrics: TaskMetrics = emptyMetrics();
  /** Findings that were sent before it was done and are not handed on yet. */
  unacknowledged = 0;
  /** Archives under way whose findings may still be dropped; nothing is sent meanwhile. */
  holds = 0;
  /** Nested objects admitted so far, at any depth. */
  nested = 0;
  /** Bytes of findings that were made meanwhile; those beyond a bound are left out. */
  heldBytes = 0;
  findingsLeftOut = 0;
  budget: RootBudget | null = null;
  /** Ends a read of it that waits. */
  interrupt: () => void = () => undefined;

  constructor(
    at: { index: number; source: number; path: string; locator: string; commit: Commit | undefined },
    opener: ObjectOpener,
  ) {
    this.index = at.index;
    this.source = at.source;
    this.path = at.path;
    this.locator = at.locator;
    this.commit = at.commit;
    this.opener = opener;
  }

  /** Id of the nested object that is admitted next. */
  get nestedId(): ObjectId {
    return { source: this.source, idx: this.index, entry: this.nested + 1 };
  }

  add(finding: Finding): void {
    if (this.holds > 0 && this.heldBytes >= HELD_BYTES_MAX) {
      this.findingsLeftOut += 1;
      return;
    }
    if (this.holds > 0) this.heldBytes += findingBytes(finding);
    this.findings.push(finding);
  }

  /** Takes back what was added since there were `count` findings, and `leftOut` were left out. */
  dropSince(count: number, leftOut: number): void {
    for (const finding of this.findings.splice(count)) this.heldBytes -= findingBytes(finding);
    this.findingsLeftOut = leftOut;
  }

  /** What is to be sent; it is held no longer. */
  takeFindings(): Finding[] {
    const { findings } = this;
    this.findings = [];
    this.heldBytes = 0;
    return findings;
  }

  get isFull(): boolean {
    return this.unacknowledged >= UNACKNOWLEDGED_MAX;
  }
}

/** Takes the object over when the last reference to it has gone. */
export interface ReadingOwner {
  released(reading: ObjectReading): void;
}

/** How far one object has been read and scanned. */
export class ObjectReading implements ObjectWork {
  readonly root: RootObject;
  readonly path: string;
  readonly depth: number;
  /** Null for a top-level object. */
  readonly entry: ArchiveEntry | null;
  /** The archive that it lies in. */
  readonly inside: ArchiveListing | null;
  readonly #owner: ReadingOwner;
  reader: ObjectReader | null = null;
  /** Undefined until asked; null where no rule applies. */
  detector: ObjectDetector | null | undefined = undefined;
  /** Its reads are answered at once: the overlap is carried on, since reading it again costs more than copying it. */
  isPrompt = false;
  /** The last bytes of the chunk before, where the overlap is carried. */
  tail: Uint8Array | null = null;
  tailLength = 0;
  /** Nothing comes after what was read. */
  ended = false;
  /** Why it ended early. */
  fault: unknown = null;
  format: ArchiveFormat | null = null;
  /** It is scanned as it is, whatever it looks like. */
  isPlain = false;
  /** Looks for an archive in what comes: it begins like a program that may unpack itself. */
  stubSearch: StubSearch | null = null;
  bytesScanned = 0;

  constructor(
    root: RootObject,
    at: { path: string; depth: number; entry: ArchiveEntry | null; inside: ArchiveListing | null },
    owner: ReadingOwner,
  ) {
    this.root = root;
    this.path = at.path;
    this.depth = at.depth;
    this.entry = at.entry;
    this.inside = at.inside;
    this.#owner = owner;
  }

  onReleased(): void {
    this.#owner.released(this);
  }
}

export function readingOf(object: ObjectRef): ObjectReading {
  const { work } = object.context;
  if (work instanceof ObjectReading) return work;
  throw new Error('scan: the object is not one of this thread');
}
