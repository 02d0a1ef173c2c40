import { malformed } from '../protocol/refusal.ts';

/** Prefix of a frame: length of the rest and length of the header, four bytes each, big-endian. */
export const PREFIX_BYTES = 8;
const LENGTH_BYTES = 4;
/** At least `{}`. */
const HEADER_BYTES_MIN = 2;
export const HEADER_BYTES_MAX = 16 * 1024;
/** Minimum frame length: the header's length and a minimal header. */
const FRAME_BYTES_MIN = 8;
const GROWTH_BYTES_MIN = 4 * 1024;
const SHRINK_BYTES_MIN = 128 * 1024;
const NOTHING = Buffer.alloc(0);

export interface Frame {
  readonly header: Buffer;
  readonly payload: Buffer;
}

/** Progress of the next frame: nothing arrived, header incomplete, or payload incomplete. */
export type FrameStage = 'idle' | 'header' | 'payload';

/**
 * Splits a byte stream into frames. Small pieces are collected in one growing buffer, so that memory stays close to the
 * bytes received.
 */
export class FrameReader {
  readonly #frameBytesMax: number;
  #bytes: Buffer = NOTHING;
  #start = 0;
  #end = 0;
  /** Whether the reader owns the buffer and may append to it. */
  #owned = false;

  /** @param frameBytesMax maximum frame length */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Bytes not yet part of a complete frame. */
  get buffered(): number {
    return this.#end - this.#start;
  }

  /** Memory held by these bytes. */
  get heldBytes(): number {
    return this.buffered === 0 ? 0 : this.#bytes.length;
  }

  /** Discards incomplete input. */
  clear(): void {
    this.#bytes = NOTHING;
    this.#start = 0;
    this.#end = 0;
    this.#owned = false;
  }

  get stage(): FrameStage {
    if (this.buffered === 0) return 'idle';
    if (this.buffered < PREFIX_BYTES) return 'header';
    return this.buffered < PREFIX_BYTES + this.#headerLength() ? 'header' : 'payload';
  }

  push(chunk: Buffer): void {
    if (this.buffered === 0) {
      this.#bytes = chunk;
      this.#start = 0;
      this.#end = chunk.length;
      this.#owned = false;
      return;
    }
    if (!this.#owned || this.#end + chunk.length > this.#bytes.length) this.#grow(chunk.length);
    // Writes only to memory that no returned frame refers to.
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /**
   * Returns the next complete frame, or null if more bytes are needed. @throws RemoteFailure MALFORMED, after which the
   * stream is unusable
   */
  next(): Frame | null {
    if (this.buffered < LENGTH_BYTES) return null;
    const length = this.#bytes.readUInt32BE(this.#start);
    if (length < FRAME_BYTES_MIN) throw malformed(`frame: its length ${length} is below ${FRAME_BYTES_MIN}`);
    if (length > this.#frameBytesMax)
      throw malformed(`frame: its length ${length} is above the maximum of ${this.#frameBytesMax}`);
    if (this.buffered < PREFIX_BYTES) return null;
    const headerLength = this.#headerLength();
    if (headerLength < HEADER_BYTES_MIN || headerLength > HEADER_BYTES_MAX)
      throw malformed(
        `frame: its header has ${headerLength} bytes; it must have ${HEADER_BYTES_MIN} to ${HEADER_BYTES_MAX}`,
      );
    if (headerLength > length - LENGTH_BYTES) throw malformed('frame: its header is longer than the frame');
    const total = LENGTH_BYTES + length;
    if (this.buffered < total) return null;
    const headerStart = this.#start + PREFIX_BYTES;
    const payloadStart = headerStart + headerLength;
    const frameEnd = this.#start + total;
    const frame = {
      header: this.#bytes.subarray(headerStart, payloadStart),
      payload: this.#bytes.subarray(payloadStart, frameEnd),
    };
    this.#start = frameEnd;
    this.#shrink();
    return frame;
  }

  /** Releases a mostly unused buffer, so that an idle connection does not hold the previous frame. */
  #shrink(): void {
    const { length } = this.#bytes;
    if (this.buffered > 0 && (length <= SHRINK_BYTES_MIN || this.buffered > length / 4)) return;
    this.#bytes = this.buffered === 0 ? NOTHING : Buffer.from(this.#bytes.subarray(this.#start, this.#end));
    this.#end -= this.#start;
    this.#start = 0;
    this.#owned = false;
  }

  #headerLength(): number {
    return this.#bytes.readUInt32BE(this.#start + LENGTH_BYTES);
  }

  #grow(more: number): void {
    const needed = this.buffered + more;
    // Doubles the capacity, up to the size announced by the frame.
    const frameBytes = this.buffered < LENGTH_BYTES ? 0 : LENGTH_BYTES + this.#bytes.readUInt32BE(this.#start);
    const room = Math.max(GROWTH_BYTES_MIN, needed, Math.min(needed * 2, frameBytes));
    const grown = Buffer.allocUnsafeSlow(room);
    this.#bytes.copy(grown, 0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
    this.#bytes = grown;
    this.#owned = true;
  }
}

/** Smaller payloads are copied behind their header; larger ones are passed on as they are. */
const COPIED_BYTES_MAX = 64 * 1024;

/** Appends one frame to the output and returns its size in bytes. */
export function appendFrame(out: Uint8Array[], header: object, payload: Uint8Array): number {
  const text = JSON.stringify(header);
  const headerLength = Buffer.byteLength(text);
  const total = PREFIX_BYTES + headerLength + payload.length;
  const copied = payload.length <= COPIED_BYTES_MAX;
  const bytes = Buffer.allocUnsafe(copied ? total : PREFIX_BYTES + headerLength);
  bytes.writeUInt32BE(total - LENGTH_BYTES, 0);
  bytes.writeUInt32BE(headerLength, LENGTH_BYTES);
  bytes.write(text, PREFIX_BYTES, 'utf8');
  out.push(bytes);
  if (copied) bytes.set(payload, PREFIX_BYTES + headerLength);
  else out.push(payload);
  return total;
}
