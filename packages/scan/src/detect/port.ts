import type { DetectedFinding } from '../result.ts';
import type { ScannedSegment } from './segment.ts';

/** A finding without the location of its object. */
export type Detection = Omit<DetectedFinding, 'path' | 'commit' | 'fingerprint' | 'verification'>;

/** One chunk of one object. `bytes[0..prefix_length)` repeats the last bytes of the previous chunk. */
export interface Chunk {
  bytes: Uint8Array;
  /** Valid bytes, prefix included. */
  length: number;
  prefix_length: number;
  /** Offset of `bytes[0]` in the object. */
  base_offset: number;
  /** True for the last chunk of the object. */
  last: boolean;
}

/**
 * Scans one object, chunk after chunk in order. The findings do not depend on the chunk boundaries, as long as each
 * chunk but the first has `min(overlap, bytes before it)` bytes of prefix.
 */
export interface ObjectDetector {
  /** Returns the detections that this chunk made certain, by offset, then rule. */
  scan(chunk: Chunk): Detection[];
  /**
   * Takes over a segment that begins where the last chunk ended, in place of its chunks. Returns null, and changes
   * nothing, unless its result is certainly that of scanning the chunks.
   */
  adopt(segment: ScannedSegment): Detection[] | null;
  /** Ids of rules that were stopped for taking too long on this object. */
  readonly timed_out_rules: readonly string[];
  /** True if this object has more detections than are kept. */
  readonly has_dropped: boolean;
}

/** Where a segment of an object begins; all offsets are even. */
export interface SegmentBounds {
  /** Offset of the first chunk; 0, or at least `overlap` before the segment, better more. */
  from: number;
  start: number;
  /** The first bytes of the object, which determine its encoding. */
  head: Uint8Array;
}

/** Scans one segment of an object, for `ObjectDetector.adopt`. */
export interface SegmentDetector {
  /** Scans the next chunk; one of them ends where the segment begins. Returns false if the segment is abandoned. */
  scan(chunk: Chunk): boolean;
  /** Returns the result after the last chunk, which ends where the segment ends; null if it was abandoned. */
  finish(): ScannedSegment | null;
}

/** A compiled rule set of one thread. */
export interface Detector {
  /** Bytes of prefix that every chunk but the first needs. Constant. */
  readonly overlap: number;
  /**
   * Returns a buffer of `length` bytes in memory that the detector scans without copying; other buffers work too. At
   * most the declared number of buffers; never freed.
   */
  allocate(length: number): Uint8Array;
  /**
   * Starts the scan of an object; returns null if no rule applies to its path. `path` is the full path; `commit` is
   * the id of the commit that introduced it, which allow lists may name.
   */
  begin(path: string, commit?: string): ObjectDetector | null;
  /** Starts the scan of a segment of an object that `begin` accepts. */
  beginSegment(object: { path: string; commit?: string }, bounds: SegmentBounds): SegmentDetector;
}
