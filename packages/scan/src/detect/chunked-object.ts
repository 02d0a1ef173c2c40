import { isDeepStrictEqual } from 'node:util';
import type { Confidence } from '@heddle/base/vocabulary/confidence';
import { ChunkFeed, type Staging } from './chunk-feed.ts';
import { detectUtf16, UTF16_SAMPLE, type Utf16 } from './decode/utf16.ts';
import type { RuleGate } from './gate.ts';
import { ObjectMatches } from './match-sink.ts';
import { encodedContext, type ObjectContext, ObjectScan } from './object-scan.ts';
import type { Chunk, Detection, ObjectDetector } from './port.ts';
import { replay, type ScannedSegment } from './segment.ts';

/** Scans one object in chunks, or takes over segments of it that were scanned elsewhere. */
export class ChunkedObject implements ObjectDetector {
  readonly #context: ObjectContext;
  readonly #gate: RuleGate;
  readonly #staging: Staging;
  readonly #matches: ObjectMatches;
  /** Null until the encoding of the object is known. */
  #scan: ObjectScan | null = null;
  #feed: ChunkFeed;
  #utf16: Utf16 | null = null;
  #byPath: Detection[];

  /** @param results what its path makes certain, and what is reported of the rest */
  constructor(
    context: ObjectContext,
    gate: RuleGate,
    staging: Staging,
    results: { byPath: Detection[]; confidence: Confidence; contextLines: number },
  ) {
    const { plan, trace } = context;
    const { byPath, confidence, contextLines } = results;
    this.#context = context;
    this.#gate = gate;
    this.#staging = staging;
    this.#byPath = byPath;
    this.#matches = new ObjectMatches({ waitForEnd: plan.hasRequired, confidence, contextLines, trace });
    this.#feed = new ChunkFeed(plan, staging, null);
  }

  get timed_out_rules(): readonly string[] {
    return this.#gate.timedOut;
  }

  get has_dropped(): boolean {
    return this.#matches.isFull;
  }

  scan(chunk: Chunk): Detection[] {
    const fresh = this.#scan === null;
    this.#scan ??= this.#open(chunk);
    if (this.#scan !== null) this.#feed.feed(this.#scan, fresh ? { ...chunk, prefix_length: 0 } : chunk);
    const found = [...this.#byPath, ...this.#matches.take()];
    this.#byPath = [];
    if (chunk.last) this.#context.trace?.end();
    return found;
  }

  adopt(segment: ScannedSegment): Detection[] | null {
    const { plan } = this.#context;
    // A stopped rule may have matched in the segment.
    if (this.#scan === null || segment.encoding !== this.#utf16 || this.#gate.timedOut.length > 0) return null;
    const { lines, ...state } = this.#scan.state;
    const { lines: segmentLines, ...assumed } = segment.before;
    if (!isDeepStrictEqual(state, assumed)) return null;
    if (!this.#gate.charge(segment.spent.map(([rule, ms]) => [plan.ruleAt(rule), ms]))) return null;
    const after = replay(segment, { before: lines, assumed: segmentLines, plan, sink: this.#matches });
    this.#scan = new ObjectScan(encodedContext(this.#context, this.#utf16), this.#matches, after);
    return this.#matches.take();
  }

  #open({ bytes, length, last }: Chunk): ObjectScan | null {
    const decodes = this.#context.scratch.length > 0;
    if (decodes && length < UTF16_SAMPLE && !last) return null;
    if (decodes) this.#utf16 = detectUtf16(bytes, 0, Math.min(length, UTF16_SAMPLE));
    this.#feed = new ChunkFeed(this.#context.plan, this.#staging, this.#utf16);
    this.#matches.unitBytes = this.#utf16 === null ? 1 : 2;
    return new ObjectScan(encodedContext(this.#context, this.#utf16), this.#matches);
  }
}
