import type { ScannedSegment } from '../detect/segment.ts';
import type { Commit } from '../result.ts';

/** Words of a division's shared memory. */
const NEXT = 0;
const POSITION = 1;
const HAS_ENDED = 2;
const WORDS = 3;

/** An object that is scanned in segments: plain data that crosses threads. */
export interface DividedObject {
  /** Its number in the run. */
  index: number;
  source: number;
  path: string;
  locator: string;
  commit: Commit | undefined;
  size: number;
  version: string;
  segmentBytes: number;
  /** Segments that may be scanned ahead of the one that is delivered next. */
  aheadMax: number;
  memory: SharedArrayBuffer;
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

export function divisionMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(WORDS * 4);
}

/**
 * Decides which thread scans which segment of an object, in memory that all threads share. The thread that has the
 * object delivers the segments in order: it scans a segment itself unless another thread has claimed it before.
 */
export class Division {
  readonly object: DividedObject;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #count: number;

  constructor(object: DividedObject) {
    this.object = object;
    this.#words = new Int32Array(object.memory);
    // The last segment ends the object, which the thread that has it does.
    this.#count = Math.ceil(object.size / object.segmentBytes) - 1;
  }

  /** True if every segment is claimed, or none may be claimed any more. */
  get isComplete(): boolean {
    return Atomics.load(this.#words, HAS_ENDED) !== 0 || Atomics.load(this.#words, NEXT) >= this.#count;
  }

  /** Claims a segment to scan ahead; returns null if none may be claimed for now. */
  claimNext(): number | null {
    for (;;) {
      const next = Atomics.load(this.#words, NEXT);
      if (this.isComplete || next > Atomics.load(this.#words, POSITION) + this.object.aheadMax) return null;
      if (Atomics.compareExchange(this.#words, NEXT, next, next + 1) === next) return next;
    }
  }

  /** Moves to a segment, which is delivered next. Returns false if another thread has claimed it. */
  moveTo(segment: number): boolean {
    const isOwn =
      segment >= this.#count || Atomics.compareExchange(this.#words, NEXT, segment, segment + 1) === segment;
    Atomics.store(this.#words, POSITION, segment);
    Atomics.notify(this.#words, POSITION);
    return isOwn;
  }

  /** Segments that are claimed or passed. */
  get claimed(): number {
    return Atomics.load(this.#words, NEXT);
  }

  /** Resolves when `claimNext` may succeed, or no segment is left. */
  async whenClaimable(): Promise<void> {
    for (;;) {
      const position = Atomics.load(this.#words, POSITION);
      if (this.isComplete || Atomics.load(this.#words, NEXT) <= position + this.object.aheadMax) return;
      const wait = Atomics.waitAsync(this.#words, POSITION, position);
      if (wait.async) await wait.value;
    }
  }

  /** No segment is claimed any more. */
  end(): void {
    Atomics.store(this.#words, HAS_ENDED, 1);
    // A thread that is about to wait notices the changed value.
    Atomics.store(this.#words, POSITION, -1);
    Atomics.notify(this.#words, POSITION);
  }
}
