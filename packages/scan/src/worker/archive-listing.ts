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
  /** The source of its bytes, which is closed by the object that represents the archive. */
  readonly input: ObjectReader;
  /** The same, if its beginning was buffered. */
  readonly replay: ReplayReader | null;
  /** Findings of the top-level object that precede this archive: kept and dropped. */
  readonly findingsBefore: number;
  readonly leftOutBefore: number;
  readonly problemsBefore: number;
  reader: ArchiveReader | null = null;
  /** Entries that were found but have no permit yet. */
  entry: ArchiveEntry | null = null;
  /** Entries found. */
  entries = 0;
  /** True if one of its budgets was exhausted under the policy `skip`: its results are discarded. */
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
