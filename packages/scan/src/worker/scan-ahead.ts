import { onNextTurn } from '@heddle/base/turn';
import type { Detector } from '../detect/port.ts';
import type { BufferHandle, BufferPool } from '../graph/buffer-pool.ts';
import { Division, type DividedObject, type SegmentResult } from './division.ts';
import type { Openers } from './openers.ts';
import { type SegmentSource, segmentSource } from './segment-source.ts';

export interface SegmentsAheadOptions {
  detector: Detector;
  pool: BufferPool;
  openers: Openers;
  chunkBytes: number;
  /** Sets the object that the thread is working on; null for none. */
  readonly mark: (index: number | null) => void;
  deliver(object: DividedObject, result: SegmentResult): void;
  readonly isAborted: () => boolean;
}

/** Bytes before a segment, besides the overlap, after which the state at its beginning is usually the true one. */
export const LEAD_BYTES = 128 * 1024;

/** Scans segments of large objects ahead of the thread that delivers them. */
export class SegmentsAhead {
  readonly #options: SegmentsAheadOptions;
  #running: Promise<void> | null = null;

  constructor(options: SegmentsAheadOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#running !== null;
  }

  /**
   * Scans segments as long as some are left and `goesOn`; does nothing while it helps with another object.
   *
   * @param waits whether to wait if enough segments are scanned ahead
   */
  help(object: DividedObject, goesOn: () => boolean, waits: boolean): Promise<void> {
    this.#running ??= this.#help(object, goesOn, waits).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #help(object: DividedObject, goesOn: () => boolean, waits: boolean): Promise<void> {
    const division = new Division(object);
    const source = segmentSource(object, this.#options.openers);
    while (goesOn() && !this.#options.isAborted()) {
      const buffer = this.#options.pool.tryAcquire();
      if (buffer === null) break;
      const segment = division.claimNext();
      if (segment !== null) this.#options.deliver(object, await this.#scan(division, segment, source, buffer));
      buffer[Symbol.dispose]();
      if (segment !== null) continue;
      if (!waits || division.isComplete) break;
      await division.whenClaimable();
    }
    await source.close();
  }

  async #scan(
    division: Division,
    segment: number,
    source: SegmentSource,
    buffer: BufferHandle,
  ): Promise<SegmentResult> {
    const result: SegmentResult = { segment, scanned: null, chunks: 0, bytes: 0 };
    try {
      await this.#scanChunks(division.object, result, source, buffer.bytes);
    } catch {
      // The thread that has the object reads the segment too, and reports what is wrong with it.
      division.end();
    } finally {
      this.#options.mark(null);
    }
    return result;
  }

  async #scanChunks(
    { index, path, commit, segmentBytes, stream }: DividedObject,
    result: SegmentResult,
    source: SegmentSource,
    bytes: Uint8Array,
  ): Promise<void> {
    const { detector, chunkBytes, mark, isAborted } = this.#options;
    const start = result.segment * segmentBytes;
    const end = start + segmentBytes;
    const from = source.beginOf(start, detector.overlap + LEAD_BYTES);
    const bounds = { from, start, head: await source.head() };
    const scan = detector.beginSegment({ path, ...(commit === undefined ? {} : { commit: commit.id }) }, bounds);
    let prefix = 0;
    for (let at = from; at < end;) {
      const to = Math.min(at + chunkBytes, at < start ? start : end);
      const length = prefix + to - at;
      await source.fill(bytes.subarray(prefix, length), at, result.segment);
      if (isAborted()) return;
      mark(index);
      const chunk = { bytes, length, prefix_length: prefix, base_offset: at - prefix, last: false };
      const isUseful = scan.scan(chunk);
      mark(null);
      if (!isUseful) return;
      result.chunks += 1;
      // What precedes a segment of a stream was not read for it.
      if (stream === undefined || at >= start) result.bytes += to - at;
      prefix = Math.min(detector.overlap, length);
      bytes.copyWithin(0, length - prefix, length);
      at = to;
      await new Promise<void>(onNextTurn);
    }
    result.scanned = scan.finish();
  }
}
