import { type DividedObject, divisionMemory, type SegmentResult } from './division.ts';
import type { ObjectReading } from './object-reading.ts';
import type { FromWorker, WorkerInit } from './protocol.ts';
import { SegmentsAhead, type SegmentsAheadOptions } from './scan-ahead.ts';
import { SegmentQueue } from './segment-queue.ts';

/** Smaller objects are not divided, in segments. */
const SEGMENTS_MIN = 3;

interface SegmentServiceOptions extends Omit<SegmentsAheadOptions, 'deliver' | 'chunkBytes'> {
  post(message: FromWorker): void;
  /** Whether the thread has objects of its own to scan. */
  hasObjects(): boolean;
  /** A step may be able to run again. */
  onReady(): void;
}

/** The part of one thread in scanning large objects: those that it has, and those of other threads. */
export class SegmentService {
  readonly #init: WorkerInit;
  readonly #options: SegmentServiceOptions;
  readonly #ahead: SegmentsAhead;
  /** Objects of this thread, by number. */
  readonly #queues = new Map<number, SegmentQueue>();

  constructor(init: WorkerInit, options: SegmentServiceOptions) {
    this.#init = init;
    this.#options = options;
    this.#ahead = new SegmentsAhead({
      ...options,
      chunkBytes: init.chunkBytes,
      deliver: (object, result) => {
        if (this.#queues.has(object.index)) this.arrive(object, result);
        else options.post({ type: 'segment', object, result });
      },
    });
  }

  get isBusy(): boolean {
    return this.#ahead.isBusy;
  }

  divide({ root, depth, reader, detector }: ObjectReading): SegmentQueue | null {
    const { threads, segmentBytes, chunkBytes, explain } = this.#init;
    const { size, version } = reader!;
    if (threads === 1 || explain !== undefined || depth > 0 || version === undefined) return null;
    if (detector === null || segmentBytes < chunkBytes || size < SEGMENTS_MIN * segmentBytes) return null;
    const { index, source, path, locator, commit } = root;
    const object: DividedObject = {
      index,
      source,
      path,
      locator,
      commit,
      size,
      version,
      segmentBytes,
      aheadMax: 2 * threads,
      memory: divisionMemory(),
    };
    const queue = new SegmentQueue(object);
    this.#queues.set(index, queue);
    this.#options.post({ type: 'divided', object });
    return queue;
  }

  /**
   * Scans segments of an object of this thread, which waits for one. The object may be complete before its last segment
   * is: only then can the thread close.
   */
  scanAhead(object: DividedObject): void {
    void this.#ahead.help(object, () => true, false).then(() => this.#options.onReady());
  }

  /** Scans segments of an object of another thread. */
  async help(object: DividedObject): Promise<void> {
    await this.#ahead.help(object, () => !this.#options.hasObjects(), true);
    this.#options.post({ type: 'helped' });
    this.#options.onReady();
  }

  arrive({ index, version }: DividedObject, result: SegmentResult): void {
    const queue = this.#queues.get(index);
    // A late result may be for a thread that had the object before.
    if (queue?.division.object.version === version) queue.arrive(result);
  }

  helperLost(index: number): void {
    this.#queues.get(index)?.helperLost();
  }

  completed(index: number): void {
    this.#queues.delete(index);
  }

  /** Lets steps end that wait for a segment. */
  abort(): void {
    for (const queue of this.#queues.values()) {
      queue.division.end();
      queue.wake();
    }
  }
}
