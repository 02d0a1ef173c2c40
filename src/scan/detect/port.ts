import type { Finding } from '../result.ts';

/** A finding before it is placed: everything but where the object stands. */
export type Detection = Omit<Finding, 'path' | 'commit' | 'fingerprint'>;

/** One chunk of one object. `bytes[0..prefix_length)` are the last bytes of what came before. */
export interface Chunk {
  bytes: Uint8Array;
  /** Valid bytes, prefix included. */
  length: number;
  prefix_length: number;
  /** Where `bytes[0]` stands in the object. */
  base_offset: number;
  /** True for the chunk that ends the object. */
  last: boolean;
}

/**
 * Looks at one object, chunk after chunk in order. What it finds does not depend on where the chunks were cut: the
 * same bytes give the same detections for any division of them, as long as each chunk but the first is given
 * `min(overlap, bytes before it)` bytes of prefix.
 */
export interface ObjectDetector {
  /** Detections that became certain with this chunk, in the order of their offset, then of their rule. */
  scan(chunk: Chunk): Detection[];
  /** Rules that were stopped for taking too long on this object, by id. */
  readonly timed_out_rules: readonly string[];
  /** Detections that were left out because this object has too many. */
  readonly detections_dropped: number;
}

/** A compiled rule set, of one thread. */
export interface Detector {
  /** Bytes of prefix that every chunk but the first needs. Constant. */
  readonly overlap: number;
  /**
   * A buffer of `length` bytes in memory that the detector scans without copying it; other buffers work, too. At most as
   * many as were stated when the detector was made; never given back.
   */
  allocate(length: number): Uint8Array;
  /**
   * Null where no rule applies to this path. `path` is the object's full path; `commit` the id of the commit that brought
   * it in, which allow lists may name.
   */
  begin(path: string, commit?: string): ObjectDetector | null;
}
