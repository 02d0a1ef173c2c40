import type { Confidence } from '@heddle/base/vocabulary/confidence';
import { UTF16_SAMPLE, type Utf16, decodeUtf16, detectUtf16 } from './decode/utf16.ts';
import type { RuleGate } from './gate.ts';
import { type ObjectContext, ObjectScan } from './object-scan.ts';
import { PendingDetections } from './pending.ts';
import type { Chunk, Detection, ObjectDetector } from './port.ts';

/** Memory for bytes that are copied or decoded before they are scanned: an overlap and `new_bytes`. */
export interface Staging {
  address: number;
  new_bytes: number;
}

/** Adapts chunks of any size in any memory to the scan of one object; UTF-16 becomes one byte per unit. */
export class ChunkedObject implements ObjectDetector {
  readonly #context: ObjectContext;
  readonly #gate: RuleGate;
  readonly #staging: Staging;
  readonly #pending: PendingDetections;
  /** Null until the encoding of the object is known. */
  #scan: ObjectScan | null = null;
  #utf16: Utf16 | null = null;
  #byPath: Detection[];

  /** @param results what its path makes certain, and the minimum confidence of what is reported */
  constructor(
    context: ObjectContext,
    gate: RuleGate,
    staging: Staging,
    results: { byPath: Detection[]; confidence: Confidence },
  ) {
    this.#context = context;
    this.#gate = gate;
    this.#staging = staging;
    this.#byPath = results.byPath;
    this.#pending = new PendingDetections(context.plan.hasRequired, results.confidence, context.trace);
  }

  get timed_out_rules(): readonly string[] {
    return this.#gate.timedOut;
  }

  get detections_dropped(): number {
    return this.#pending.dropped;
  }

  scan(chunk: Chunk): Detection[] {
    const fresh = this.#scan === null;
    this.#scan ??= this.#open(chunk);
    if (this.#scan !== null) this.#feed(this.#scan, fresh ? { ...chunk, prefix_length: 0 } : chunk);
    const found = [...this.#byPath, ...this.#pending.take()];
    this.#byPath = [];
    if (chunk.last) this.#context.trace?.end();
    return found;
  }

  #open({ bytes, length, last }: Chunk): ObjectScan | null {
    const { scratch } = this.#context;
    if (scratch.length === 0) return new ObjectScan(this.#context, this.#pending);
    if (length < UTF16_SAMPLE && !last) return null;
    this.#utf16 = detectUtf16(bytes, 0, Math.min(length, UTF16_SAMPLE));
    if (this.#utf16 === null) return new ObjectScan(this.#context, this.#pending);
    const whole = { encoding: this.#utf16, unit_bytes: 2 };
    return new ObjectScan({ ...this.#context, scratch: scratch.slice(1), whole }, this.#pending);
  }

  #feed(scan: ObjectScan, chunk: Chunk): void {
    const { bytes, length, base_offset, last } = chunk;
    if (this.#utf16 !== null) this.#decoded(scan, chunk, this.#utf16);
    else if (bytes.buffer === this.#context.plan.scanner.bytes.buffer) {
      scan.feed({ address: bytes.byteOffset, length, base_offset, last });
    } else this.#copied(scan, chunk);
  }

  get #overlap(): number {
    return this.#context.plan.before + this.#context.plan.after;
  }

  /** Scans piece by piece, each with the overlap before it. */
  #copied(scan: ObjectScan, { bytes, length, prefix_length, base_offset, last }: Chunk): void {
    const memory = this.#context.plan.scanner.bytes;
    const { address, new_bytes } = this.#staging;
    let from = prefix_length;
    do {
      const to = Math.min(length, from + new_bytes);
      const first = Math.max(0, from - this.#overlap);
      memory.set(bytes.subarray(first, to), address);
      scan.feed({ address, length: to - first, base_offset: base_offset + first, last: last && to === length });
      from = to;
    } while (from < length);
  }

  /**
   * Scans in units of two bytes. A byte that belongs to the previous unit, or has no successor, waits or is dropped.
   */
  #decoded(scan: ObjectScan, { bytes, length, prefix_length, base_offset, last }: Chunk, encoding: Utf16): void {
    const { address, new_bytes } = this.#staging;
    const units = (base_offset + length) >> 1;
    const firstUnit = (base_offset + 1) >> 1;
    let from = (base_offset + prefix_length) >> 1;
    do {
      const to = Math.min(units, from + new_bytes);
      const first = Math.max(firstUnit, from - this.#overlap);
      const start = first * 2 - base_offset;
      const target = this.#context.plan.scanner.bytes;
      const written = decodeUtf16(bytes, start, to * 2 - base_offset, { bytes: target, address }, encoding);
      scan.feed({ address, length: written, base_offset: first, last: last && to === units });
      from = to;
    } while (from < units);
  }
}
