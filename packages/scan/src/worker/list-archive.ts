import { bytesText, RootBudget, type BudgetFault } from '../archive/context.ts';
import type { ArchiveEntry } from '../archive/port.ts';
import { EnumCursor } from '../graph/cursor.ts';
import type { StepResult } from '../graph/executor.ts';
import type { ObjectRef } from '../graph/object.ts';
import type { EnumerateStep, ScanChunkStep } from '../graph/step.ts';
import type { Problem } from '../result.ts';
import { ArchiveListing } from './archive-listing.ts';
import { ReaderSection } from '../source/reader-section.ts';
import type { ScanContext } from './context.ts';
import { ObjectReading, readingOf } from './object-reading.ts';
import { budgetOf, damagedEmbedded, problemOf } from './problem.ts';
import { ReplayReader, withoutClose } from './replay-reader.ts';

type Step = EnumerateStep<ArchiveListing>;
type Result = StepResult<ArchiveListing>;

/** Lists archives. Entries are read one at a time: the listing step waits here while an entry is read. */
export class ArchiveLister {
  readonly #context: ScanContext;
  /** Steps that wait for their current entry. */
  readonly #parked = new Map<ArchiveListing, Step>();
  readonly #closeDropped = (listing: ArchiveListing): void => {
    this.#context.closing(this.#closeReader(listing.reader));
  };

  constructor(context: ScanContext) {
    this.#context = context;
  }

  /** Lists the entries of an object whose first chunk is an archive, instead of scanning its bytes. */
  begin(step: ScanChunkStep): Result {
    const archive = readingOf(step.object);
    const { root } = archive;
    root.budget ??= new RootBudget(this.#context.limits.archives);
    const reader = archive.reader!;
    const replay =
      reader.access === 'carry' ? new ReplayReader(reader, step.buffer.bytes.slice(0, step.length), step.last) : null;
    step.buffer[Symbol.dispose]();
    this.#list(new ArchiveListing(archive, withoutClose(replay ?? reader), replay, this.#closeDropped), step.object);
    return null;
  }

  /** Lists the entries of the archive that follows a program, whose bytes are scanned. */
  beginEmbedded(object: ObjectRef): null {
    const archive = readingOf(object);
    const { format, offset } = archive.embedded!;
    archive.root.budget ??= new RootBudget(this.#context.limits.archives);
    archive.format = format;
    // The directory of a zip file counts from the beginning of the program, or is found with what precedes it.
    const reader = archive.reader!;
    const input = format === 'zip' ? reader : new ReaderSection(reader, offset, reader.size - offset);
    this.#list(new ArchiveListing(archive, withoutClose(input), null, this.#closeDropped), object);
    return null;
  }

  #list(listing: ArchiveListing, object: ObjectRef): void {
    if (this.#context.limits.archives.policy === 'skip') listing.archive.root.holds += 1;
    this.#context.executor.spawn({ kind: 'enumerate', source: listing, cursor: EnumCursor.start(), object });
  }

  enumerate(step: Step): Result | Promise<Result> {
    const listing = step.source;
    this.#context.mark(listing.archive);
    listing.archive.root.metrics.enumerate_count += 1;
    if (listing.dropped !== null) return this.#end(step);
    return listing.entry === null ? this.#advance(step) : this.#admit(step, listing.entry);
  }

  /** The last reference to an entry is released: its archive continues. */
  entryReleased(listing: ArchiveListing): void {
    const step = this.#parked.get(listing);
    if (step === undefined) throw new Error('archive: unexpected end of an entry');
    this.#parked.delete(listing);
    this.#context.executor.spawn(step);
  }

  /** A budget was exhausted while `listing` was read: under `skip` its results are discarded. */
  budgetEnded(listing: ArchiveListing, { level, problem }: BudgetFault): void {
    if (this.#context.limits.archives.policy !== 'skip') return;
    listing.dropped ??= problem;
    if (level !== 'root') return;
    for (let outer = listing.archive.inside; outer !== null; outer = outer.archive.inside) outer.dropped ??= problem;
  }

  async #advance(step: Step): Promise<Result> {
    const listing = step.source;
    let entry: ArchiveEntry | null;
    try {
      listing.reader ??= await this.#open(listing);
      do entry = await listing.reader.next();
      while (entry !== null && !this.#isWanted(listing, entry));
    } catch (error) {
      return this.#failed(step, error);
    }
    if (entry === null) return this.#end(step);
    listing.entry = entry;
    return this.#admit(step, entry);
  }

  #open({ archive, input }: ArchiveListing): ReturnType<ScanContext['formats']['open']> {
    const { path, depth, root, format } = archive;
    const options = this.#context.limits.archives;
    const report = (problem: Problem): void => this.#context.report(root, problem);
    return this.#context.formats.open(format!, input, { path, depth, options, root: root.budget!, report });
  }

  /** Returns whether an entry has content to scan; reports the reason unless it is obvious. */
  #isWanted(listing: ArchiveListing, entry: ArchiveEntry): boolean {
    const { root } = listing.archive;
    const path = entryPath(listing, entry);
    listing.entries += 1;
    if (entry.kind === 'directory' || this.#context.isExcluded(path)) return false;
    if (entry.kind === 'link') {
      this.#context.report(root, {
        code: 'link_not_followed',
        path,
        message: 'links in archives are not followed',
        extent: 'notice',
      });
      return false;
    }
    if (entry.kind === 'special') {
      this.#context.report(root, { code: 'special_file', path, message: 'it is not a regular file', extent: 'notice' });
      return false;
    }
    const { objectBytesMax } = this.#context.limits;
    if (objectBytesMax === 0 || entry.size_hint <= objectBytesMax) return true;
    const message = `its declared size is ${bytesText(entry.size_hint)}, more than ${bytesText(objectBytesMax)}`;
    this.#context.report(root, { code: 'too_large', path, message, extent: 'skipped' });
    return false;
  }

  #admit(step: Step, entry: ArchiveEntry): Result {
    const listing = step.source;
    const { archive } = listing;
    const { root } = archive;
    const path = entryPath(listing, entry);
    const depth = archive.depth + 1;
    const descriptor = {
      path,
      size_hint: entry.size_hint,
      object_id: root.nestedId,
      source_id: root.source,
    };
    const object = this.#context.frontier.tryAcquireContext(descriptor, depth);
    if (object === null) {
      root.metrics.enumerate_backpressure += 1;
      return step;
    }
    root.nested += 1;
    object.context.work = new ObjectReading(root, { path, depth, entry, inside: listing }, this.#context.owner);
    listing.entry = null;
    root.metrics.objects_discovered += 1;
    step.cursor.take();
    step.cursor = EnumCursor.continue({ type: 'offset', offset: listing.entries });
    this.#parked.set(listing, step);
    this.#context.executor.spawn({ kind: 'fetch_sync', object, offset: 0 });
    return null;
  }

  #failed(step: Step, error: unknown): Result | Promise<Result> {
    const listing = step.source;
    const { archive } = listing;
    const budget = budgetOf(error);
    const problem = problemOf(error, archive.path, listing.entries > 0 ? 'partial' : 'skipped');
    // Its raw bytes are scanned.
    if (archive.embedded !== null && problem.extent === 'skipped') problem.extent = 'partial';
    if (budget !== null) this.budgetEnded(listing, budget);
    // Discarded results are reported once, at the end of the archive.
    if (listing.dropped !== null) return this.#end(step);
    const unreadable = problem.code === 'malformed_archive' || problem.code === 'unsupported_archive';
    if (unreadable && listing.entries === 0 && archive.embedded !== null) {
      this.#context.report(archive.root, damagedEmbedded(archive.embedded.name, problem));
      return this.#end(step);
    }
    if (!unreadable || listing.entries > 0 || archive.detector === null) {
      this.#context.report(archive.root, problem);
      return this.#end(step);
    }
    this.#context.report(archive.root, {
      ...problem,
      extent: problem.extent === 'skipped' ? 'partial' : problem.extent,
    });
    return this.#scanPlain(step);
  }

  /** The object only looks like an archive: its raw bytes are scanned. */
  async #scanPlain(step: Step): Promise<Result> {
    const { archive, replay, reader } = step.source;
    await this.#closeReader(reader);
    this.#unhold(step.source);
    archive.isPlain = true;
    archive.format = null;
    archive.ended = false;
    if (replay !== null && !replay.canRewind) replay.keepHead();
    if (replay !== null) archive.reader = replay;
    this.#context.executor.spawn({ kind: 'fetch_sync', object: step.object!, offset: 0 });
    return null;
  }

  async #end(step: Step): Promise<Result> {
    const listing = step.source;
    const { root, path } = listing.archive;
    await this.#closeReader(listing.reader);
    if (listing.dropped !== null) {
      root.dropSince(listing.findingsBefore, listing.leftOutBefore);
      // Results of its entries are discarded too.
      for (const problem of root.problems.slice(listing.problemsBefore))
        if (problem.extent === 'partial') problem.extent = 'skipped';
      const message = `the archive was skipped entirely: ${listing.dropped.message}`;
      this.#context.report(root, { code: listing.dropped.code, path, message, extent: 'skipped' });
    }
    this.#unhold(listing);
    listing.archive.embedded = null;
    return this.#context.finish(step.object!);
  }

  async #closeReader(reader: ArchiveListing['reader']): Promise<void> {
    try {
      await reader?.close();
    } catch {
      // Its work is done or was reported; a failure to close it adds nothing.
    }
  }

  #unhold({ archive }: ArchiveListing): void {
    if (this.#context.limits.archives.policy === 'skip') archive.root.holds -= 1;
  }
}

function entryPath({ archive }: ArchiveListing, entry: ArchiveEntry): string {
  return `${archive.path}!${entry.name}`;
}
