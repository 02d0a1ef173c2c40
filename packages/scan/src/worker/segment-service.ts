import { systemRandom } from '@heddle/base/random';
import {
  Division,
  type DividedObject,
  divisionMemory,
  type SegmentResult,
  type SegmentSlots,
  streamMemory,
} from './division.ts';
import type { ObjectReading } from './object-reading.ts';
import type { FromWorker, WorkerInit } from './protocol.ts';
import { LEAD_BYTES, SegmentsAhead, type SegmentsAheadOptions } from './scan-ahead.ts';
import { SegmentQueue } from './segment-queue.ts';
import { createSlots, StreamAhead } from './stream-ahead.ts';

/** Smaller objects are not divided, in segments. */
const SEGMENTS_MIN = 3;

/** Segments of streams are kept in memory. */
const STREAM_SEGMENT_BYTES = 2 * 1024 * 1024;

/** More would not be scanned at the same time: even fast decompression keeps few threads busy. */
const SLOTS_MAX = 6;

/** Segments of a stream that are read before it is divided: most entries end before. */
const STREAM_SEGMENTS_MIN = 2;

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
  /** Made for the first stream, and used by one at a time. */
  #slots: SegmentSlots | null = null;
  #hasStream = false;

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
      memory: divisionMemory(size, segmentBytes),
    };
    return this.#offer(object);
  }

  /** Offers the segments of an object to other threads. */
  #offer(object: DividedObject, current?: number): SegmentQueue {
    const queue = new SegmentQueue(object, current);
    this.#queues.set(object.index, queue);
    this.#options.post({ type: 'divided', object });
    return queue;
  }

  divideStream(reading: ObjectReading, end: number): void {
    const { root, path, reader, head, detector } = reading;
    const { threads, chunkBytes, explain, objectBytesMax } = this.#init;
    const { overlap } = this.#options.detector;
    const segmentBytes = Math.min(STREAM_SEGMENT_BYTES, this.#init.segmentBytes);
    if (threads === 1 || explain !== undefined || this.#hasStream || reading.stream !== null) return;
    if (end < STREAM_SEGMENTS_MIN * segmentBytes || segmentBytes < Math.max(chunkBytes, overlap)) return;
    if (detector === null || detector === undefined || reading.stubSearch !== null || head === null) return;
    const leadBytes = Math.min(overlap + LEAD_BYTES, segmentBytes);
    const slots = (this.#slots ??= createSlots(
      Math.min(2 * threads, SLOTS_MAX),
      leadBytes - (leadBytes % 2),
      segmentBytes,
    ));
    const { index, source, locator, commit } = root;
    const current = Math.ceil(end / segmentBytes) - 1;
    const object: DividedObject = {
      index,
      source,
      path,
      locator,
      commit,
      size: -1,
      version: Buffer.from(systemRandom.bytes(8)).toString('hex'),
      segmentBytes,
      aheadMax: slots.count,
      memory: streamMemory(current),
      stream: { head, slots },
    };
    this.#hasStream = true;
    reading.stream = new StreamAhead({
      inner: reader!,
      position: end,
      segmentBytes,
      slots,
      bytesMax: objectBytesMax > 0 ? objectBytesMax : Infinity,
      onClose: () => (this.#hasStream = false),
    });
    reading.reader = reading.stream;
    reading.segments = this.#offer(object, current);
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
    const division = new Division(object);
    division.helperCame();
    await this.#ahead.help(object, () => !this.#options.hasObjects(), true);
    division.helperLeft();
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
