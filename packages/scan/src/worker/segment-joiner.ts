import type { StepResult } from '../graph/executor.ts';
import type { FetchSyncStep } from '../graph/step.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { ScanContext } from './context.ts';
import type { SegmentResult } from './division.ts';
import type { ObjectReading } from './object-reading.ts';
import { addDetections } from './scan-chunk.ts';
import type { SegmentQueue } from './segment-queue.ts';

type Result = StepResult<ArchiveListing> | Promise<StepResult<ArchiveListing>>;

/** Takes over segments that other threads scanned ahead, instead of reading their chunks. */
export class SegmentJoiner {
  readonly #context: ScanContext;

  constructor(context: ScanContext) {
    this.#context = context;
  }

  /** Handles a step at the beginning of a segment; returns undefined if its chunks must be read. */
  join(step: FetchSyncStep, reading: ObjectReading, segments: SegmentQueue): Result | undefined {
    const { executor } = this.#context;
    // The time of a rule is limited for the whole object: from here on, one thread knows what applies.
    if (reading.detector!.timed_out_rules.length > 0) {
      segments.division.end();
      reading.segments = null;
      return undefined;
    }
    const { division } = segments;
    const stream = reading.stream?.canFill(step.offset, division) === true ? reading.stream : null;
    if (stream?.hasLead === true) return this.#afterwards(stream.fill(step.offset, division), step);
    const next = segments.take();
    // Others can scan what follows the first segment that is read ahead.
    if (next === null) return stream === null ? undefined : this.#afterwards(stream.fill(step.offset, division), step);
    if (next instanceof Promise) {
      this.#context.scanAhead(division.object);
      return this.#afterwards(next, step);
    }
    if (!this.#adopt(reading, next)) return undefined;
    step.offset += division.object.segmentBytes;
    executor.spawn(step);
    return null;
  }

  async #afterwards(work: Promise<unknown>, step: FetchSyncStep): Promise<null> {
    await work;
    this.#context.executor.spawn(step);
    return null;
  }

  #adopt(reading: ObjectReading, { scanned, chunks, bytes }: SegmentResult): boolean {
    const { root } = reading;
    const detections =
      scanned === null || reading.stubSearch !== null ? null : (reading.detector?.adopt(scanned) ?? null);
    if (detections === null) return false;
    const { segmentBytes } = reading.segments!.division.object;
    reading.bytesScanned += segmentBytes;
    root.metrics.bytes_scanned += segmentBytes;
    root.metrics.bytes_fetched += bytes;
    root.metrics.fetch_sync_count += chunks;
    root.metrics.scan_count += chunks;
    addDetections(detections, reading, this.#context.sink);
    return true;
  }
}
