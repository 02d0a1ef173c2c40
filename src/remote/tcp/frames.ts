import { malformed } from '../protocol/refusal.ts';

/** Length of what follows, and length of the header: two numbers of four bytes, big-endian. */
export const PREFIX_BYTES = 8;
const LENGTH_BYTES = 4;
/** `{}` and up. */
const HEADER_BYTES_MIN = 2;
export const HEADER_BYTES_MAX = 16 * 1024;
/** The smallest value of the first length: that of the header's length, and something after it. */
export const FRAME_BYTES_MIN = 8;
const GROWTH_BYTES_MIN = 4 * 1024;
const SHRINK_BYTES_MIN = 128 * 1024;
const NOTHING = Buffer.alloc(0);

export interface Frame {
  readonly header: Buffer;
  readonly payload: Buffer;
}

/** What is still missing of the next frame: nothing arrived yet, its header is incomplete, or its payload is. */
export type FrameStage = 'idle' | 'header' | 'payload';

/**
 * Cuts a stream of bytes into frames. What arrives in many small pieces is gathered in one growing buffer, so that memory
 * stays near the number of bytes received, however they are cut.
 */
export class FrameReader {
  readonly #frameBytesMax: number;
  #bytes: Buffer = NOTHING;
  #start = 0;
  #end = 0;
  /** Whether the buffer is this reader's own, with room behind `end`. */
  #owned = false;

  /** @param frameBytesMax what a frame's first length may say */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Bytes that no frame was made of yet. */
  get buffered(): number {
    return this.#end - this.#start;
  }

  /** Bytes of memory that they take. */
  get heldBytes(): number {
    return this.buffered === 0 ? 0 : this.#bytes.length;
  }

  /** Lets go of what no frame was made of. */
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
    // Only room that no frame was cut from is written to.
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /** The next whole frame, or null where more bytes are needed. @throws RemoteFailure MALFORMED, after which all is lost */
  next(): Frame | null {
    if (this.buffered < LENGTH_BYTES) return null;
    const length = this.#bytes.readUInt32BE(this.#start);
    if (length < FRAME_BYTES_MIN) throw malformed(`frame: its length ${length} is below ${FRAME_BYTES_MIN}`);
    if (length > this.#frameBytesMax)
      throw malformed(`frame: its length ${length} is above the ${this.#frameBytesMax} that are taken here`);
    if (this.buffered < PREFIX_BYTES) return null;
    const headerLength = this.#headerLength();
    if (headerLength < HEADER_BYTES_MIN || headerLength > HEADER_BYTES_MAX)
      throw malformed(
        `frame: its header has ${headerLength} bytes; ${HEADER_BYTES_MIN} to ${HEADER_BYTES_MAX} are taken`,
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

  /** Lets go of a buffer of which hardly anything is needed: an idle connection must not hold the frame of before. */
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
    // Twice the room, and never more than the frame says that it has.
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

/** Payloads beyond this are passed on as they are, smaller ones copied behind their header. */
const COPIED_BYTES_MAX = 64 * 1024;

/** Appends one frame to what is to be written, and returns how many bytes it has. */
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
