import { crc32 } from 'node:zlib';

import { NONCE_BYTES } from './nonce-table.ts';

/**
 * Records of nonces on disk. A frame is the u32 big-endian length of its records, their u32 CRC-32, and the records: u8
 * length of the client's name, the name in ASCII, f64 big-endian timestamp of the request in milliseconds, 16 bytes of
 * nonce.
 */
const FRAME_HEADER_BYTES = 8;
const TIME_BYTES = 8;
const NAME_BYTES_MAX = 128;
const RECORD_BYTES_MAX = 1 + NAME_BYTES_MAX + TIME_BYTES + NONCE_BYTES;
const CAPACITY_MIN = 64 * 1024;

/** Collects the records of one frame. Reusable. */
export class NonceFrame {
  #buffer = Buffer.allocUnsafe(CAPACITY_MIN);
  #end = FRAME_HEADER_BYTES;
  #newestMs = 0;

  get empty(): boolean {
    return this.#end === FRAME_HEADER_BYTES;
  }

  /** Latest request in the frame, milliseconds since the epoch. */
  get newestMs(): number {
    return this.#newestMs;
  }

  /** @param client a validated name: ASCII, at most 128 characters */
  add(client: string, nonce: Uint8Array, timestampMs: number): void {
    if (this.#end + RECORD_BYTES_MAX > this.#buffer.length) this.#grow();
    const buffer = this.#buffer;
    let at = buffer.writeUInt8(client.length, this.#end);
    at += buffer.write(client, at, 'latin1');
    at = buffer.writeDoubleBE(timestampMs, at);
    buffer.set(nonce, at);
    this.#end = at + NONCE_BYTES;
    if (timestampMs > this.#newestMs) this.#newestMs = timestampMs;
  }

  /** Returns the finished frame; valid until the next `add` or `clear`. */
  bytes(): Buffer {
    const records = this.#buffer.subarray(FRAME_HEADER_BYTES, this.#end);
    this.#buffer.writeUInt32BE(records.length, 0);
    this.#buffer.writeUInt32BE(crc32(records), 4);
    return this.#buffer.subarray(0, this.#end);
  }

  clear(): void {
    this.#end = FRAME_HEADER_BYTES;
    this.#newestMs = 0;
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#buffer.length * 2);
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

export type NonceRecordSink = (client: string, bytes: Buffer, nonceAt: number, timestampMs: number) => void;

/**
 * Reads frames until the first torn or damaged one, whose requests were never acted on because its write had not
 * finished.
 *
 * @returns the number of unreadable bytes
 */
export function readNonceFrames(bytes: Buffer, sink: NonceRecordSink): number {
  let at = 0;
  while (at + FRAME_HEADER_BYTES <= bytes.length) {
    const start = at + FRAME_HEADER_BYTES;
    const end = start + bytes.readUInt32BE(at);
    if (end > bytes.length || crc32(bytes.subarray(start, end)) !== bytes.readUInt32BE(at + 4)) break;
    for (let record = start; record < end;) {
      const nameEnd = record + 1 + bytes[record]!;
      const nonceAt = nameEnd + TIME_BYTES;
      sink(bytes.toString('latin1', record + 1, nameEnd), bytes, nonceAt, bytes.readDoubleBE(nameEnd));
      record = nonceAt + NONCE_BYTES;
    }
    at = end;
  }
  return bytes.length - at;
}
