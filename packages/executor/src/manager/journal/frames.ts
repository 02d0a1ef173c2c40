import { crc32 } from 'node:zlib';

import type { JournalRecord, Location } from './records.ts';

/** Frame layout: length of what follows the CRC, CRC-32 of that, length of the record, record (JSON), body. */
const HEADER_BYTES = 8;
const META_LENGTH_BYTES = 4;
/** Upper bound of a frame; a larger length is damage. */
const FRAME_BYTES_MAX = 256 * 1_048_576;
/** Upper bound of a record, so that its length starts with a zero byte. */
const RECORD_BYTES_MAX = 2 ** 24 - 1;
const RECORD_START = 0x7b;
const FIRST_CAPACITY = 64 * 1024;
/** Larger buffers are not reused. */
const KEPT_CAPACITY = 4 * 1_048_576;

/** Frame bytes in addition to record and body. */
const FRAME_OVERHEAD_BYTES = HEADER_BYTES + META_LENGTH_BYTES;

/** Consecutive frames for one write. */
export class FrameBuffer {
  #buffer = Buffer.allocUnsafe(FIRST_CAPACITY);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Appends a frame and returns the offset of its body in the buffer. */
  add(record: JournalRecord, body: Uint8Array | null): number {
    const meta = JSON.stringify(record);
    // UTF-8 takes at most three bytes for a UTF-16 unit.
    this.#reserve(FRAME_OVERHEAD_BYTES + meta.length * 3 + (body?.length ?? 0));
    const start = this.#length;
    const contentAt = start + HEADER_BYTES;
    const metaBytes = this.#buffer.write(meta, contentAt + META_LENGTH_BYTES);
    this.#buffer.writeUInt32BE(metaBytes, contentAt);
    const bodyAt = contentAt + META_LENGTH_BYTES + metaBytes;
    if (body !== null) this.#buffer.set(body, bodyAt);
    const end = bodyAt + (body?.length ?? 0);
    this.#buffer.writeUInt32BE(end - contentAt, start);
    this.#buffer.writeUInt32BE(crc32(this.#buffer.subarray(contentAt, end)), start + 4);
    this.#length = end;
    return bodyAt;
  }

  /** Returns the frames; the memory is reused after `clear`. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > KEPT_CAPACITY) this.#buffer = Buffer.allocUnsafe(FIRST_CAPACITY);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

/** Called for each intact record; the body is a view. */
export type RecordSink = (record: JournalRecord, body: Buffer, location: Location) => void;

/** Reads frames from `from` until the first torn or damaged one; returns the end of the last intact one. */
export function readFrames(bytes: Buffer, segment: number, sink: RecordSink, from = 0): number {
  let at = from;
  for (let frame = frameAt(bytes, at); frame !== null; frame = frameAt(bytes, at)) {
    const { record, bodyAt, end } = frame;
    sink(record, bytes.subarray(bodyAt, end), { segment, at: bodyAt, length: end - bodyAt });
    at = end;
  }
  return at;
}

/**
 * Finds the next intact frame at or after `from`, inside a damaged one; null if there is none. A body cannot be
 * mistaken for a frame: JSON contains no zero bytes, and the length of every record starts with one.
 */
export function nextFrame(bytes: Buffer, from: number): number | null {
  for (let at = from; at + FRAME_OVERHEAD_BYTES <= bytes.length; at += 1) {
    if (frameAt(bytes, at) !== null) return at;
  }
  return null;
}

interface FrameFound {
  readonly record: JournalRecord;
  readonly bodyAt: number;
  readonly end: number;
}

function frameAt(bytes: Buffer, at: number): FrameFound | null {
  const contentAt = at + HEADER_BYTES;
  const metaAt = contentAt + META_LENGTH_BYTES;
  if (metaAt > bytes.length) return null;
  const length = bytes.readUInt32BE(at);
  const end = contentAt + length;
  if (length < META_LENGTH_BYTES || length > FRAME_BYTES_MAX || end > bytes.length) return null;
  const bodyAt = metaAt + bytes.readUInt32BE(contentAt);
  if (bodyAt > end || bodyAt - metaAt > RECORD_BYTES_MAX || bytes[metaAt] !== RECORD_START) return null;
  if (crc32(bytes.subarray(contentAt, end)) !== bytes.readUInt32BE(at + 4)) return null;
  try {
    return { record: JSON.parse(bytes.toString('utf8', metaAt, bodyAt)) as JournalRecord, bodyAt, end };
  } catch {
    return null;
  }
}
