import { decodeUtf16, type Utf16 } from './decode/utf16.ts';
import type { ObjectScan } from './object-scan.ts';
import type { DetectionPlan } from './plan.ts';
import type { Chunk } from './port.ts';

/** Memory for bytes that are copied or decoded before they are scanned: an overlap and `new_bytes`. */
export interface Staging {
  address: number;
  new_bytes: number;
}

/** Feeds chunks of any size in any memory to a scan; UTF-16 becomes one byte per unit. */
export class ChunkFeed {
  readonly #plan: DetectionPlan;
  readonly #staging: Staging;
  readonly #utf16: Utf16 | null;

  constructor(plan: DetectionPlan, staging: Staging, utf16: Utf16 | null) {
    this.#plan = plan;
    this.#staging = staging;
    this.#utf16 = utf16;
  }

  feed(scan: ObjectScan, chunk: Chunk): void {
    const { bytes, length, base_offset, last } = chunk;
    if (this.#utf16 !== null) this.#decoded(scan, chunk, this.#utf16);
    else if (bytes.buffer === this.#plan.scanner.bytes.buffer) {
      scan.feed({ address: bytes.byteOffset, length, base_offset, last });
    } else this.#copied(scan, chunk);
  }

  get #overlap(): number {
    return this.#plan.before + this.#plan.after;
  }

  /** Scans piece by piece, each with the overlap before it. */
  #copied(scan: ObjectScan, { bytes, length, prefix_length, base_offset, last }: Chunk): void {
    const memory = this.#plan.scanner.bytes;
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
    const units = unitsIn(base_offset + length);
    const firstUnit = unitsIn(base_offset + 1);
    let from = unitsIn(base_offset + prefix_length);
    do {
      const to = Math.min(units, from + new_bytes);
      const first = Math.max(firstUnit, from - this.#overlap);
      const start = first * 2 - base_offset;
      const target = this.#plan.scanner.bytes;
      const written = decodeUtf16(bytes, start, to * 2 - base_offset, { bytes: target, address }, encoding);
      scan.feed({ address, length: written, base_offset: first, last: last && to === units });
      from = to;
    } while (from < units);
  }
}

/** Returns the number of complete UTF-16 units in a number of bytes. Bitwise operators would cut offsets from 2 GiB on to 32 bits. */
export function unitsIn(bytes: number): number {
  return Math.floor(bytes / 2);
}
