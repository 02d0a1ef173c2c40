import type { ArchiveEntry, ArchiveReader } from '../archive/port.ts';
import type { Enumerable } from '../graph/step.ts';
import type { Problem } from '../result.ts';
import type { ObjectReader } from '../source/port.ts';
import type { ObjectReading } from './object-reading.ts';
import type { ReplayReader } from './replay-reader.ts';

/** An archive whose entries are being listed. */
export class ArchiveListing implements Enumerable {
  /** The archive itself, as an object. */
  readonly archive: ObjectReading;
  /** What its bytes come from; its owner is the archive as an object, which closes it. */
  readonly input: ObjectReader;
  /** The same, where the beginning was kept. */
  readonly replay: ReplayReader | null;
  /** Findings of the top-level object that lie before this archive: kept, and left out. */
  readonly findingsBefore: number;
  readonly leftOutBefore: number;
  readonly problemsBefore: number;
  reader: ArchiveReader | null = null;
  /** Found, and without a permit so far. */
  entry: ArchiveEntry | null = null;
  /** Entries found. */
  entries = 0;
  /** A budget of it ended under the policy `skip`: nothing of it counts. */
  dropped: Problem | null = null;
  readonly #close: (listing: ArchiveListing) => void;

  constructor(
    archive: ObjectReading,
    input: ObjectReader,
    replay: ReplayReader | null,
    close: (listing: ArchiveListing) => void,
  ) {
    this.archive = archive;
    this.input = input;
    this.replay = replay;
    this.findingsBefore = archive.root.findings.length;
    this.leftOutBefore = archive.root.findingsLeftOut;
    this.problemsBefore = archive.root.problems.length;
    this.#close = close;
  }

  onDropped(): void {
    this.#close(this);
  }
}
