import { bytesText } from '../archive/context.ts';
import { EnumCursor, type CursorState } from '../graph/cursor.ts';
import { Executor, type StepResult } from '../graph/executor.ts';
import type { ObjectFrontier } from '../graph/frontier.ts';
import { ENUM_BATCH_SIZE } from '../graph/limits.ts';
import { emptyMetrics } from '../graph/metrics.ts';
import type { Enumerable, EnumerateStep } from '../graph/step.ts';
import type { Problem, TaskMetrics } from '../result.ts';
import type { DiscoveredObject, EnumerationBatch, ObjectSource } from '../source/port.ts';
import { descriptorOf } from './dispatcher.ts';
import type { AdmittedObject, NumberedObject } from './numbered-object.ts';

/** Where a run resumes: the source and the position in it. */
export interface Position {
  source: number;
  cursor: CursorState | 'start' | 'done';
}

/** The end of one batch of a listing. */
export interface Boundary extends Position {
  /** Number of the first object after it. */
  end: number;
  /** Objects listed since the previous boundary. */
  metrics: TaskMetrics;
}

export interface DiscoveryEvents {
  admitted(admitted: AdmittedObject): void;
  /** Problems of a listing, reported in the place of an object. */
  problems(index: number, problems: readonly Problem[]): void;
  /** Returns true if the object's results are already known and it must not be scanned again. */
  isKnown(object: NumberedObject): boolean;
  boundary(boundary: Boundary): void;
  /** Returns true while no more objects may be admitted. `wake` must be called when that changes. */
  isHeld(): boolean;
  /** Returns true once all objects before `end` are scanned. `wake` must be called when that changes. */
  isDelivered(end: number): boolean;
  passes(path: string): boolean;
  ready(): void;
  /** A source cannot be listed any further. */
  failed(source: ObjectSource | null, error: unknown): void;
}

/** A source being listed, or objects being admitted again. */
class Listing implements Enumerable {
  readonly source: ObjectSource | null;
  readonly number: number;
  /** Found and numbered, not admitted yet. */
  found: NumberedObject[];
  /** How many of those were admitted. */
  admitted = 0;
  /** The next objects are listed once all of these are scanned. */
  removes = false;

  constructor(source: ObjectSource | null, number: number, found: NumberedObject[] = []) {
    this.source = source;
    this.number = number;
    this.found = found;
  }

  onDropped(): void {
    // The caller that opened the sources closes them.
  }
}

type Step = EnumerateStep<Listing>;
type Result = StepResult<Listing>;

/**
 * Lists the sources one after another, numbers their objects and admits them as permits become free. Never waits for a
 * permit.
 */
export class Discovery {
  readonly executor: Executor<Listing>;
  readonly metrics: TaskMetrics = emptyMetrics();
  readonly #sources: readonly ObjectSource[];
  readonly #frontier: ObjectFrontier;
  readonly #objectBytesMax: number;
  readonly #events: DiscoveryEvents;
  #nextIndex: number;
  #sinceBoundary: TaskMetrics = emptyMetrics();
  #isDone = false;
  #again = 0;
  /** The source being listed. */
  #current: ObjectSource | null = null;

  constructor(
    sources: readonly ObjectSource[],
    frontier: ObjectFrontier,
    options: { objectBytesMax: number; from: Position; next_index: number },
    events: DiscoveryEvents,
  ) {
    this.#sources = sources;
    this.#frontier = frontier;
    this.#objectBytesMax = options.objectBytesMax;
    this.#nextIndex = options.next_index;
    this.#events = events;
    const handlers = {
      enumerate: (step: Step) => this.#enumerate(step),
      fetchSync: unexpected,
      scan: unexpected,
    };
    this.executor = new Executor<Listing>(handlers, {
      onReady: () => events.ready(),
      onDefect: (error) => events.failed(null, error),
    });
    this.#list(options.from.source, cursorOf(options.from.cursor));
  }

  /** True once every source was listed to the end and every object was admitted. */
  get isDone(): boolean {
    return this.#isDone && this.#again === 0;
  }

  /** What the source being listed waits for; null if it does not wait for long. */
  get status(): string | null {
    return this.#current?.status ?? null;
  }

  /** Objects found so far. */
  get found(): number {
    return this.#nextIndex;
  }

  /** Admits the objects of a failed worker again. */
  again(objects: NumberedObject[]): void {
    if (objects.length === 0) return;
    this.#again += 1;
    const source = new Listing(null, -1, objects);
    this.executor.spawn({ kind: 'enumerate', source, cursor: EnumCursor.done(), object: null });
  }

  #list(number: number, cursor: EnumCursor): void {
    const source = this.#sources[number];
    this.#current = source ?? null;
    if (source === undefined) {
      this.#isDone = true;
      return;
    }
    this.executor.spawn({ kind: 'enumerate', source: new Listing(source, number), cursor, object: null });
  }

  #enumerate(step: Step): Result | Promise<Result> {
    // Everything else may be waiting for these objects.
    if (step.source.source !== null && this.#events.isHeld()) return step;
    this.#count('enumerate_count', 1);
    if (!this.#admit(step.source)) {
      this.#count('enumerate_backpressure', 1);
      return step;
    }
    const { source, number, removes } = step.source;
    if (source === null) {
      this.#again -= 1;
      return null;
    }
    if (removes && !this.#events.isDelivered(this.#nextIndex)) return step;
    if (step.cursor.isDone) {
      this.#list(number + 1, EnumCursor.start());
      return null;
    }
    try {
      const batch = source.enumerate(step.cursor, ENUM_BATCH_SIZE);
      return batch instanceof Promise ? this.#awaitBatch(step, source, batch) : this.#found(step, batch);
    } catch (error) {
      this.#events.failed(source, error);
      return null;
    }
  }

  async #awaitBatch(step: Step, source: ObjectSource, pending: Promise<EnumerationBatch>): Promise<Result> {
    let batch: EnumerationBatch;
    try {
      batch = await pending;
    } catch (error) {
      if (!this.executor.isAborted) this.#events.failed(source, error);
      return null;
    }
    return this.#found(step, batch);
  }

  /** Numbers the objects found and returns the step that admits them. */
  #found(step: Step, batch: EnumerationBatch): Result {
    const { source } = step;
    const problems = [...batch.problems];
    const wanted = batch.objects.filter((object) => this.#isWanted(object, problems));
    if (problems.length > 0) this.#events.problems(this.#nextIndex++, problems);
    source.found = [];
    source.admitted = 0;
    for (const object of wanted) {
      const numbered = {
        index: this.#nextIndex++,
        source: source.number,
        path: object.path,
        locator: object.locator,
        size_hint: object.size_hint,
        commit: object.commit,
        losses: 0,
      };
      if (!this.#events.isKnown(numbered)) source.found.push(numbered);
    }
    this.#count('objects_discovered', wanted.length);
    step.cursor = batch.cursor;
    source.removes = batch.removes === true;
    this.#events.boundary({
      end: this.#nextIndex,
      source: source.number,
      cursor: batch.cursor.toJSON(),
      metrics: this.#sinceBoundary,
    });
    this.#sinceBoundary = emptyMetrics();
    this.executor.spawn(step);
    return null;
  }

  #isWanted({ path, size_hint }: DiscoveredObject, problems: Problem[]): boolean {
    if (!this.#events.passes(path)) return false;
    if (this.#objectBytesMax === 0 || size_hint <= this.#objectBytesMax) return true;
    const message = `it holds ${bytesText(size_hint)}, more than ${bytesText(this.#objectBytesMax)}`;
    problems.push({ code: 'too_large', path, message, extent: 'skipped' });
    return false;
  }

  /** Returns false if a permit is missing; objects before that are admitted. */
  #admit(listing: Listing): boolean {
    while (listing.admitted < listing.found.length) {
      const object = listing.found[listing.admitted]!;
      const reference = this.#frontier.tryAcquireContext(descriptorOf(object), 0);
      if (reference === null) return false;
      listing.admitted += 1;
      this.#events.admitted({ object, reference });
    }
    listing.found = [];
    listing.admitted = 0;
    return true;
  }

  #count(field: keyof TaskMetrics, by: number): void {
    this.metrics[field] += by;
    this.#sinceBoundary[field] += by;
  }
}

function cursorOf(state: Position['cursor']): EnumCursor {
  if (state === 'start') return EnumCursor.start();
  return state === 'done' ? EnumCursor.done() : EnumCursor.continue(state);
}

function unexpected(): never {
  throw new Error('scan: the coordinator only lists');
}
