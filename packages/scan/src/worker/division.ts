import type { ScannedSegment } from '../detect/segment.ts';
import type { Commit } from '../result.ts';

/** Words of a division's shared memory. */
const NEXT = 0;
const POSITION = 1;
const HAS_ENDED = 2;
/** Segments before this one may be claimed. */
const LIMIT = 3;
/** Not 0: the limit may still rise. */
const GROWS = 4;
/** Threads that help with a stream, as far as known. */
const HELPERS = 5;
/** Incremented by whatever a thread that waits may wait for. */
const CHANGES = 6;
const WORDS = 7;

/** An object that is scanned in segments: plain data that crosses threads. */
export interface DividedObject {
  /** Its number in the run. */
  index: number;
  source: number;
  path: string;
  locator: string;
  commit: Commit | undefined;
  /** Of an object that every thread can read. */
  size: number;
  /** Of a stream: unique in its thread. */
  version: string;
  segmentBytes: number;
  /** Segments that may be scanned ahead of the one that is delivered next. */
  aheadMax: number;
  memory: SharedArrayBuffer;
  /** Set if only the thread that has the object can read it: an entry of an archive. */
  stream?: StreamPart;
}

/** Where other threads find the segments of a stream. */
export interface StreamPart {
  /** The first bytes of the object. */
  head: Uint8Array;
  slots: SegmentSlots;
}

/** Memory for a few segments, each with the bytes before it that its scan begins with. */
export interface SegmentSlots {
  memory: SharedArrayBuffer;
  count: number;
  /** Even. */
  leadBytes: number;
}

/** A segment that was scanned ahead, or why there is none. */
export interface SegmentResult {
  segment: number;
  /** Null if it could not be scanned, or has too many matches. */
  scanned: ScannedSegment | null;
  /** Chunks and bytes that were read for it. */
  chunks: number;
  bytes: number;
}

/** Memory for an object of known size, whose last segment is left to the thread that has it. */
export function divisionMemory(size: number, segmentBytes: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(WORDS * 4);
  new Int32Array(memory)[LIMIT] = Math.ceil(size / segmentBytes) - 1;
  return memory;
}

/** Memory for a stream, from the segment on that its thread is at; others can claim those that are added. */
export function streamMemory(current: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(WORDS * 4);
  const words = new Int32Array(memory);
  words[NEXT] = words[LIMIT] = current;
  words[GROWS] = 1;
  return memory;
}

/**
 * Decides which thread scans which segment of an object, in memory that all threads share. The thread that has the
 * object delivers the segments in order: it scans a segment itself unless another thread has claimed it before.
 */
export class Division {
  readonly object: DividedObject;
  readonly #words: Int32Array<SharedArrayBuffer>;

  constructor(object: DividedObject) {
    this.object = object;
    this.#words = new Int32Array(object.memory);
  }

  get hasEnded(): boolean {
    return Atomics.load(this.#words, HAS_ENDED) !== 0;
  }

  /** True if every segment is claimed, or none may be claimed any more. */
  get isComplete(): boolean {
    return this.hasEnded || (!this.#hasMore && Atomics.load(this.#words, GROWS) === 0);
  }

  /** Claims a segment to scan ahead; returns null if none may be claimed for now. */
  claimNext(): number | null {
    for (;;) {
      const next = Atomics.load(this.#words, NEXT);
      if (!this.#isClaimable) return null;
      if (Atomics.compareExchange(this.#words, NEXT, next, next + 1) === next) return next;
    }
  }

  /** Moves to a segment, which is delivered next. Returns false if another thread has claimed it. */
  moveTo(segment: number): boolean {
    // The last segment ends the object, which the thread that has it does.
    const isLast = this.object.stream === undefined && segment >= Atomics.load(this.#words, LIMIT);
    const isOwn = isLast || Atomics.compareExchange(this.#words, NEXT, segment, segment + 1) === segment;
    Atomics.store(this.#words, POSITION, segment);
    this.#changed();
    return isOwn;
  }

  /** Segments that are claimed or passed. */
  get claimed(): number {
    return Atomics.load(this.#words, NEXT);
  }

  /** Lets a segment of a stream be claimed. */
  add(segment: number): void {
    Atomics.store(this.#words, LIMIT, segment + 1);
    this.#changed();
  }

  /** No segment is added any more. */
  complete(): void {
    Atomics.store(this.#words, GROWS, 0);
    this.#changed();
  }

  get hasHelpers(): boolean {
    return Atomics.load(this.#words, HELPERS) > 0;
  }

  helperCame(): void {
    Atomics.add(this.#words, HELPERS, 1);
  }

  helperLeft(): void {
    Atomics.sub(this.#words, HELPERS, 1);
  }

  /** Resolves when `claimNext` may succeed, or no segment is left. */
  async whenClaimable(): Promise<void> {
    for (;;) {
      const changes = Atomics.load(this.#words, CHANGES);
      if (this.isComplete || this.#isClaimable) return;
      const wait = Atomics.waitAsync(this.#words, CHANGES, changes);
      if (wait.async) await wait.value;
    }
  }

  /** No segment is claimed any more. */
  end(): void {
    Atomics.store(this.#words, HAS_ENDED, 1);
    this.#changed();
  }

  get #hasMore(): boolean {
    return Atomics.load(this.#words, NEXT) < Atomics.load(this.#words, LIMIT);
  }

  get #isClaimable(): boolean {
    if (this.hasEnded || !this.#hasMore) return false;
    return Atomics.load(this.#words, NEXT) <= Atomics.load(this.#words, POSITION) + this.object.aheadMax;
  }

  #changed(): void {
    Atomics.add(this.#words, CHANGES, 1);
    Atomics.notify(this.#words, CHANGES);
  }
}
