import { ChunkFeed, type Staging, unitsIn } from './chunk-feed.ts';
import { detectUtf16, UTF16_SAMPLE, type Utf16 } from './decode/utf16.ts';
import type { RuleGate } from './gate.ts';
import { encodedContext, type ObjectContext, ObjectScan, type ScanState, scanStateAt } from './object-scan.ts';
import type { Chunk, SegmentBounds, SegmentDetector } from './port.ts';
import { type ScannedSegment, SegmentLog } from './segment.ts';

/** Scans a segment of an object, and before it as much as usually determines the state at its beginning. */
export class SegmentScan implements SegmentDetector {
  readonly #gate: RuleGate;
  readonly #context: ObjectContext;
  readonly #start: number;
  readonly #log: SegmentLog;
  readonly #feed: ChunkFeed;
  readonly #utf16: Utf16 | null;
  readonly #scan: ObjectScan;
  #before: ScanState | null = null;

  constructor(context: ObjectContext, gate: RuleGate, staging: Staging, { from, start, head }: SegmentBounds) {
    const decodes = context.scratch.length > 0;
    this.#utf16 = decodes ? detectUtf16(head, 0, Math.min(head.length, UTF16_SAMPLE)) : null;
    this.#gate = gate;
    this.#context = context;
    this.#start = start;
    this.#log = new SegmentLog(context.plan);
    this.#feed = new ChunkFeed(context.plan, staging, this.#utf16);
    const encoded = encodedContext(context, this.#utf16);
    const offset = this.#utf16 === null ? from : unitsIn(from);
    this.#scan = new ObjectScan(encoded, this.#log, scanStateAt(offset, encoded));
  }

  scan(chunk: Chunk): boolean {
    this.#feed.feed(this.#scan, chunk);
    if (chunk.base_offset + chunk.length === this.#start) {
      this.#before = this.#scan.state;
      this.#log.clear();
    }
    return !this.#log.isOverfull && this.#gate.timedOut.length === 0;
  }

  finish(): ScannedSegment | null {
    if (this.#before === null || this.#log.isOverfull || this.#gate.timedOut.length > 0) return null;
    return {
      encoding: this.#utf16,
      before: this.#before,
      after: this.#scan.state,
      events: this.#log.events,
      spent: this.#gate.spent.map(([rule, ms]) => [this.#context.plan.numberOf(rule), ms]),
    };
  }
}
