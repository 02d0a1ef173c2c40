import type { Problem } from '../result.ts';
import type { ObjectReader } from '../source/port.ts';
import type { Division, SegmentSlots } from './division.ts';

interface StreamAheadOptions {
  inner: ObjectReader;
  /** Bytes that were read of it before. */
  position: number;
  segmentBytes: number;
  slots: SegmentSlots;
  /** Bytes from which on a scan may give the object up; nothing beyond them is read ahead. */
  bytesMax: number;
  onClose: () => void;
}

/**
 * Reads an object front to back, and segments of it ahead of its scan, into memory in which other threads scan them.
 * What was read ahead is read again from there.
 */
export class StreamAhead implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #options: StreamAheadOptions;
  /** The segment in each slot; -1 for none. */
  readonly #kept: number[];
  #position: number;
  #hasEnded = false;
  #fault: { error: unknown } | null = null;

  constructor(options: StreamAheadOptions) {
    this.#options = options;
    this.#position = options.position;
    this.#kept = new Array<number>(options.slots.count).fill(-1);
  }

  /**
   * Whether segments can be read ahead of the one that begins at `offset`, which is the next to be delivered; those
   * before it are not needed any more.
   */
  canFill(offset: number, division: Division): boolean {
    const { segmentBytes, slots, bytesMax } = this.#options;
    if (this.#hasEnded || division.hasEnded || !division.hasHelpers) return false;
    if (this.#position % segmentBytes !== 0 || this.#position >= offset + slots.count * segmentBytes) return false;
    return this.#position + segmentBytes <= bytesMax;
  }

  /** Whether the bytes before the next segment to be read are kept, without which no other thread can scan it. */
  get hasLead(): boolean {
    return this.#keeps(this.#position / this.#options.segmentBytes - 1);
  }

  async fill(offset: number, division: Division): Promise<void> {
    while (this.canFill(offset, division)) await this.#fillNext(division);
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    if (offset < this.#position) return this.#copy(target, start, length, offset);
    if (this.#fault !== null) throw this.#fault.error;
    return this.#hasEnded ? 0 : this.#readOn(target, start, length);
  }

  close(): Problem | undefined | Promise<Problem | undefined> {
    this.#options.onClose();
    return this.#options.inner.close();
  }

  async #readOn(target: Uint8Array, start: number, length: number): Promise<number> {
    const count = await this.#options.inner.read(target, start, length, this.#position);
    this.#position += count;
    // What is kept does not precede what comes next.
    if (count > 0) this.#kept.fill(-1);
    return count;
  }

  async #fillNext(division: Division): Promise<void> {
    const { inner, segmentBytes, slots } = this.#options;
    const segment = this.#position / segmentBytes;
    const { hasLead } = this;
    const slot = slotBytes(slots, segment, segmentBytes);
    this.#kept[segment % slots.count] = -1;
    if (hasLead) slot.set(slotBytes(slots, segment - 1, segmentBytes).subarray(-slots.leadBytes));
    const end = this.#position + segmentBytes;
    try {
      while (this.#position < end && !this.#hasEnded) {
        const at = slot.length - (end - this.#position);
        const count = await inner.read(slot, at, end - this.#position, this.#position);
        this.#position += count;
        this.#hasEnded = count === 0;
      }
    } catch (error) {
      this.#fault = { error };
      this.#hasEnded = true;
    }
    this.#kept[segment % slots.count] = segment;
    if (this.#hasEnded) division.complete();
    else if (hasLead) division.add(segment);
  }

  #keeps(segment: number): boolean {
    return segment >= 0 && this.#kept[segment % this.#kept.length] === segment;
  }

  /** Copies bytes of a segment that is kept, or of those before one. */
  #copy(target: Uint8Array, start: number, length: number, offset: number): number {
    const { segmentBytes, slots } = this.#options;
    const own = Math.floor(offset / segmentBytes);
    const segment = this.#keeps(own) ? own : own + 1;
    const begin = segment * segmentBytes - slots.leadBytes;
    if (!this.#keeps(segment) || offset < begin) throw new Error('stream: these bytes are not kept');
    const end = Math.min(begin + slots.leadBytes + segmentBytes, this.#position, offset + length);
    const slot = slotBytes(slots, segment, segmentBytes);
    target.set(slot.subarray(offset - begin, end - begin), start);
    return end - offset;
  }
}

/** Returns the slot of a segment, with the bytes before it. */
export function slotBytes(
  { memory, count, leadBytes }: SegmentSlots,
  segment: number,
  segmentBytes: number,
): Uint8Array {
  const length = leadBytes + segmentBytes;
  return new Uint8Array(memory, (segment % count) * length, length);
}

export function createSlots(count: number, leadBytes: number, segmentBytes: number): SegmentSlots {
  return { memory: new SharedArrayBuffer(count * (leadBytes + segmentBytes)), count, leadBytes };
}
