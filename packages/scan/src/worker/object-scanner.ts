import { DETECTIONS_PER_OBJECT_MAX } from '../detect/pending.ts';
import type { Executor, StepHandlers } from '../graph/executor.ts';
import { Executor as StepExecutor } from '../graph/executor.ts';
import type { ObjectRef } from '../graph/object.ts';
import type { Problem } from '../result.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { ScanContext } from './context.ts';
import { ChunkFetcher } from './fetch-chunk.ts';
import { ArchiveLister } from './list-archive.ts';
import { type ObjectReading, readingOf, type RootObject, ObjectReading as Reading } from './object-reading.ts';
import { budgetOf, isArchiveFailure, problemOf } from './problem.ts';
import { ChunkScanner } from './scan-chunk.ts';

export interface ObjectScannerOptions extends Pick<
  ScanContext,
  | 'limits'
  | 'detector'
  | 'formats'
  | 'pool'
  | 'frontier'
  | 'sink'
  | 'isExcluded'
  | 'mark'
  | 'divide'
  | 'divideStream'
  | 'scanAhead'
> {
  onReady(): void;
  onDefect(error: unknown): void;
}

/**
 * Processes top-level objects from their first chunk to the end, with everything inside them: the steps of one
 * thread.
 */
export class ObjectScanner {
  readonly executor: Executor<ArchiveListing>;
  readonly #context: ScanContext;
  readonly #archives: ArchiveLister;
  readonly #closing = new Set<Promise<unknown>>();
  #open = 0;

  constructor(options: ObjectScannerOptions) {
    const handlers: StepHandlers<ArchiveListing> = {
      enumerate: (step) => this.#archives.enumerate(step),
      fetchSync: (step) => fetcher.fetchSync(step),
      scan: (step) => (readingOf(step.object).format === null ? scanner.scan(step) : this.#archives.begin(step)),
    };
    this.executor = new StepExecutor(handlers, options);
    this.#context = {
      ...options,
      executor: this.executor,
      owner: { released: (reading) => this.#released(reading) },
      finish: (object) => this.#finish(object),
      closing: (work) => this.#watch(work),
      report: (root, problem) => {
        // A fault of compressed data is met by the entry that ends there, and again by its archive.
        if (root.problems.at(-1) === problem) return;
        root.problems.push(problem);
        if (options.limits.archives.policy === 'fail-run' && isArchiveFailure(problem)) options.sink.failRun(problem);
      },
    };
    const fetcher = new ChunkFetcher(this.#context);
    const scanner = new ChunkScanner(this.#context);
    this.#archives = new ArchiveLister(this.#context);
  }

  /** Top-level objects in progress. */
  get open(): number {
    return this.#open;
  }

  /** Begins a top-level object whose permit belongs to this thread. */
  begin(root: RootObject, object: ObjectRef): void {
    this.#open += 1;
    object.context.work = new Reading(
      root,
      { path: root.path, depth: 0, entry: null, inside: null },
      this.#context.owner,
    );
    this.executor.spawn({ kind: 'fetch_sync', object, offset: 0 });
  }

  /** Resolves when everything that an abort left open is closed. */
  async closed(): Promise<void> {
    while (this.#closing.size > 0) await Promise.allSettled(this.#closing);
  }

  #finish(object: ObjectRef): null | Promise<null> {
    const reading = readingOf(object);
    if (reading.embedded !== null && reading.fault === null) return this.#archives.beginEmbedded(object);
    const { reader } = reading;
    reading.reader = null;
    let closing: ReturnType<NonNullable<typeof reader>['close']>;
    try {
      closing = reader?.close();
    } catch (error) {
      closing = problemOf(error, reading.path, 'partial');
    }
    if (!(closing instanceof Promise)) return this.#ended(object, reading, closing);
    return closing.then(
      (problem) => this.#ended(object, reading, problem),
      (error: unknown) => this.#ended(object, reading, problemOf(error, reading.path, 'partial')),
    );
  }

  #ended(object: ObjectRef, reading: ObjectReading, atClose: Problem | undefined): null {
    const report = (problem: Problem): void => this.#context.report(reading.root, problem);
    if (reading.fault !== null) this.#reportFault(reading);
    for (const id of reading.detector?.timed_out_rules ?? []) {
      const message = `the rule ${id} took too long and was stopped`;
      report({ code: 'rule_timed_out', path: reading.path, message, extent: 'partial' });
    }
    if (reading.detector?.has_dropped === true) {
      const message = `it has more than ${DETECTIONS_PER_OBJECT_MAX.toLocaleString('en')} findings; the others are not reported`;
      report({ code: 'findings_dropped', path: reading.path, message, extent: 'partial' });
    }
    const { findingsLeftOut } = reading.root;
    if (reading.inside === null && findingsLeftOut > 0) {
      const message = `its archives have more undecided findings than are kept; ${findingsLeftOut} were dropped`;
      report({ code: 'findings_dropped', path: reading.path, message, extent: 'partial' });
    }
    if (atClose !== undefined) report(atClose);
    object[Symbol.dispose]();
    return null;
  }

  #reportFault(reading: ObjectReading): void {
    const extent = reading.bytesScanned > 0 ? 'partial' : 'skipped';
    this.#context.report(reading.root, problemOf(reading.fault, reading.path, extent));
    const budget = budgetOf(reading.fault);
    if (budget !== null && reading.inside !== null) this.#archives.budgetEnded(reading.inside, budget);
  }

  #released(reading: ObjectReading): void {
    reading.segments?.division.end();
    // Only an aborted run releases an object before its end.
    if (reading.reader !== null) this.#watch(closeQuietly(reading.reader));
    else if (!this.executor.isAborted) reading.root.metrics.objects_completed += 1;
    if (reading.inside !== null) {
      this.#archives.entryReleased(reading.inside);
      return;
    }
    this.#open -= 1;
    this.#context.sink.completed(reading.root);
  }

  #watch(work: unknown): void {
    if (!(work instanceof Promise)) return;
    const settled = work.catch(() => undefined).finally(() => this.#closing.delete(settled));
    this.#closing.add(settled);
  }
}

async function closeQuietly(reader: { close(): unknown }): Promise<void> {
  try {
    await reader.close();
  } catch {
    // The run was aborted: errors of this object are irrelevant.
  }
}
