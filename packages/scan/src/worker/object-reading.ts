import type { RootBudget } from '../archive/context.ts';
import type { EmbeddedArchive, StubSearch } from '../archive/embedded.ts';
import type { ArchiveEntry, ArchiveFormat } from '../archive/port.ts';
import type { ObjectDetector } from '../detect/port.ts';
import { emptyMetrics } from '../graph/metrics.ts';
import type { ObjectId, ObjectRef, ObjectWork } from '../graph/object.ts';
import { findingBytes } from '../result-size.ts';
import type { Commit, Finding, Problem, TaskMetrics } from '../result.ts';
import type { ObjectOpener, ObjectReader } from '../source/port.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { SegmentQueue } from './segment-queue.ts';
import type { StreamAhead } from './stream-ahead.ts';

/** Findings of one object that may be in transit; beyond that, reading pauses until they are delivered. */
const UNACKNOWLEDGED_MAX = 1000;

/** Findings of one object that are held while its archive may still be discarded. */
const HELD_BYTES_MAX = 8 * 1024 * 1024;

/** A top-level object with everything inside it: its findings are delivered together, in order. */
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
  /** Findings that were sent before its end and are not delivered yet. */
  unacknowledged = 0;
  /** Archives in progress whose findings may still be discarded; nothing is sent meanwhile. */
  holds = 0;
  /** Nested objects admitted so far, at any depth. */
  nested = 0;
  /** Bytes of findings held meanwhile; those beyond a limit are dropped. */
  heldBytes = 0;
  findingsLeftOut = 0;
  budget: RootBudget | null = null;
  /** Aborts a pending read of it. */
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

  /** Restores the state of `count` findings and `omitted` dropped ones. */
  dropSince(count: number, omitted: number): void {
    for (const finding of this.findings.splice(count)) this.heldBytes -= findingBytes(finding);
    this.findingsLeftOut = omitted;
  }

  /** Returns the findings to send and clears them. */
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

/** Takes over the object when its last reference is released. */
export interface ReadingOwner {
  released(reading: ObjectReading): void;
}

/** The progress of reading and scanning one object. */
export class ObjectReading implements ObjectWork {
  readonly root: RootObject;
  readonly path: string;
  readonly depth: number;
  /** Null for a top-level object. */
  readonly entry: ArchiveEntry | null;
  /** The archive that contains it. */
  readonly inside: ArchiveListing | null;
  readonly #owner: ReadingOwner;
  reader: ObjectReader | null = null;
  /** Undefined until requested; null if no rule applies. */
  detector: ObjectDetector | null | undefined = undefined;
  /** True if its reads are synchronous: the overlap is copied, which costs less than reading it again. */
  isPrompt = false;
  /** The last bytes of the previous chunk, if the overlap is copied. */
  tail: Uint8Array | null = null;
  tailLength = 0;
  /** Offset at which it ends: that of the next chunk, unless segments were taken over since. */
  tailEnd = 0;
  /** Null unless other threads help to scan it. */
  segments: SegmentQueue | null = null;
  /** The first bytes of an entry of an archive. */
  head: Uint8Array | null = null;
  /** Its reader, if it is an entry that was divided. */
  stream: StreamAhead | null = null;
  /** True if nothing follows what was read. */
  ended = false;
  /** Why it ended early. */
  fault: unknown = null;
  format: ArchiveFormat | null = null;
  /** True if its raw bytes are scanned, whatever it looks like. */
  isPlain = false;
  /** Searches the chunks for an embedded archive, if it begins like a self-extracting program. */
  stubSearch: StubSearch | null = null;
  /** The one that was found: it is opened once the raw bytes are scanned. */
  embedded: EmbeddedArchive | null = null;
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
  throw new Error('scan: the object belongs to another thread');
}
