import type { ObjectReader } from '../source/port.ts';
import type { DividedObject, StreamPart } from './division.ts';
import type { Openers } from './openers.ts';
import { slotBytes } from './stream-ahead.ts';

/** The bytes of a divided object, for a thread that scans one segment of it after the other. */
export interface SegmentSource {
  /** Returns the offset from which on bytes are read for the segment at `start`; `leadBytes` before it if possible. */
  beginOf(start: number, leadBytes: number): number;
  head(): Promise<Uint8Array>;
  /** Fills `target` with bytes of one segment, or of those before it. */
  fill(target: Uint8Array, offset: number, segment: number): Promise<void>;
  close(): Promise<void>;
}

const HEAD_BYTES = 64;

export function segmentSource(object: DividedObject, openers: Openers): SegmentSource {
  return object.stream === undefined ? new FileSegments(object, openers) : new StreamSegments(object, object.stream);
}

export function headOf(bytes: Uint8Array): Uint8Array {
  return bytes.slice(0, HEAD_BYTES);
}

/** Reads a divided object. Rejects if it is not what the thread that has it reads. */
class FileSegments implements SegmentSource {
  readonly #object: DividedObject;
  readonly #openers: Openers;
  #reader: ObjectReader | null = null;
  #head: Uint8Array | null = null;

  constructor(object: DividedObject, openers: Openers) {
    this.#object = object;
    this.#openers = openers;
  }

  beginOf(start: number, leadBytes: number): number {
    return evenBelow(Math.max(0, start - leadBytes));
  }

  async head(): Promise<Uint8Array> {
    if (this.#head !== null) return this.#head;
    const head = new Uint8Array(HEAD_BYTES);
    await this.fill(head, 0);
    return (this.#head = head);
  }

  async fill(target: Uint8Array, offset: number): Promise<void> {
    const reader = (this.#reader ??= await this.#open());
    for (let got = 0; got < target.length;) {
      const count = await reader.read(target, got, target.length - got, offset + got);
      if (count === 0) throw new Error('segment: the object ended early');
      got += count;
    }
  }

  async close(): Promise<void> {
    try {
      await this.#reader?.close();
    } catch {
      // The thread that has the object closes it too, and reports what is wrong.
    }
  }

  async #open(): Promise<ObjectReader> {
    const { source, path, locator, version } = this.#object;
    const opener = await this.#openers.opened(source);
    const reader = await opener.open({ path, locator });
    if (reader.version === version) return reader;
    await reader.close();
    throw new Error('segment: the object has changed');
  }
}

/** Bitwise operators would cut offsets from 2 GiB on to 32 bits. */
function evenBelow(offset: number): number {
  return offset - (offset % 2);
}

/** Copies segments from where the thread that reads the stream has put them. */
class StreamSegments implements SegmentSource {
  readonly #object: DividedObject;
  readonly #stream: StreamPart;

  constructor(object: DividedObject, stream: StreamPart) {
    this.#object = object;
    this.#stream = stream;
  }

  beginOf(start: number): number {
    return start - this.#stream.slots.leadBytes;
  }

  head(): Promise<Uint8Array> {
    return Promise.resolve(this.#stream.head);
  }

  fill(target: Uint8Array, offset: number, segment: number): Promise<void> {
    const { segmentBytes } = this.#object;
    const at = offset - this.beginOf(segment * segmentBytes);
    target.set(slotBytes(this.#stream.slots, segment, segmentBytes).subarray(at, at + target.length));
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
