import type { Detection } from '../detect/port.ts';
import { fingerprintOf } from '../fingerprint.ts';
import type { StepResult } from '../graph/executor.ts';
import type { ScanChunkStep } from '../graph/step.ts';
import type { Finding } from '../result.ts';
import type { ArchiveListing } from './archive-listing.ts';
import type { ResultSink, ScanContext } from './context.ts';
import { readingOf, type ObjectReading } from './object-reading.ts';

/** Findings of an unfinished object that are sent at once. */
const PART_FINDINGS = 256;

/** Handles Scan steps: scans one chunk, locates its findings, and ends the object after the last one. */
export class ChunkScanner {
  readonly #context: ScanContext;

  constructor(context: ScanContext) {
    this.#context = context;
  }

  scan(step: ScanChunkStep): StepResult<ArchiveListing> | Promise<StepResult<ArchiveListing>> {
    const reading = readingOf(step.object);
    const { root } = reading;
    this.#context.mark(reading);
    // A previous chunk failed: later ones cannot be scanned without it.
    if (reading.detector !== null && reading.detector !== undefined) this.#scanBytes(step, reading);
    step.buffer[Symbol.dispose]();
    root.metrics.scan_count += 1;
    if (step.last) return this.#context.finish(step.object);
    step.object[Symbol.dispose]();
    return null;
  }

  #scanBytes(step: ScanChunkStep, reading: ObjectReading): void {
    const { buffer, length, prefix_length, base_offset, last } = step;
    const { root } = reading;
    let detections: Detection[];
    try {
      detections = reading.detector!.scan({ bytes: buffer.bytes, length, prefix_length, base_offset, last });
    } catch (error) {
      reading.fault ??= error;
      reading.detector = null;
      return;
    }
    reading.bytesScanned += length - prefix_length;
    root.metrics.bytes_scanned += length - prefix_length;
    addDetections(detections, reading, this.#context.sink);
  }
}

/** Adds detections to the results of their object, and sends these once they are many. */
export function addDetections(detections: readonly Detection[], reading: ObjectReading, sink: ResultSink): void {
  const { root } = reading;
  for (const detection of detections) root.add(placed(detection, reading));
  if (root.holds === 0 && root.findings.length >= PART_FINDINGS) sink.part(root);
}

function placed(detection: Detection, { path, root }: ObjectReading): Finding {
  const fingerprint = fingerprintOf(detection.rule_id, path, detection.secret);
  const finding: Finding = { ...detection, path, fingerprint };
  return root.commit === undefined ? finding : { ...finding, commit: root.commit };
}
