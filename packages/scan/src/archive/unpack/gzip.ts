import { crc32 } from 'node:zlib';

import type { Input } from '../byte-source.ts';
import { Damage, takeBytes, type Remark, type Unpacker } from './unpacker.ts';
import { TRAILER_BYTES, unpackWhole } from './whole-member.ts';
import { ZlibUnpacker } from './zlib.ts';

const FLAG = { headerChecksum: 2, extra: 4, name: 8, comment: 16 } as const;

/** Decompresses the concatenated members of a gzip file. */
export class GzipUnpacker implements Unpacker {
  readonly #input: Input;
  #member: Unpacker | null = null;
  #members = 0;
  #crc = 0;
  #length = 0;
  #remark: Remark | undefined;

  constructor(input: Input) {
    this.#input = input;
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#member === null && !(await this.#begin())) return null;
      const piece = await this.#member!.next();
      if (piece !== null) {
        this.#crc = crc32(piece, this.#crc);
        this.#length += piece.length;
        return piece;
      }
      await this.#finish();
    }
  }

  /** Opens the next member; returns false if there is none. */
  async #begin(): Promise<boolean> {
    if (this.#members > 0 && !(await isFollowed(this.#input, isGzipMagic, 2))) {
      this.#remark = await trailingRemark(this.#input);
      return false;
    }
    await passHeader(this.#input);
    const whole = this.#members === 0 ? await unpackWhole(this.#input) : null;
    this.#member = whole ?? new ZlibUnpacker('deflate', this.#input);
    this.#members++;
    this.#crc = this.#length = 0;
    return true;
  }

  async #finish(): Promise<void> {
    this.#member!.close();
    this.#member = null;
    const trailer = await takeBytes(this.#input, TRAILER_BYTES, "a gzip member's trailer");
    const view = new DataView(trailer.buffer, trailer.byteOffset);
    if (view.getUint32(0, true) !== this.#crc) throw new Damage('the checksum of a gzip member is wrong');
    if (view.getUint32(4, true) !== this.#length % 2 ** 32) throw new Damage('the length of a gzip member is wrong');
  }

  remark(): Remark | undefined {
    return this.#remark;
  }

  close(): void {
    this.#member?.close();
    this.#member = null;
  }
}

function isGzipMagic(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

async function passHeader(input: Input): Promise<void> {
  const header = await takeBytes(input, 10, 'the gzip header');
  if (!isGzipMagic(header) || header[2] !== 8) throw new Damage('the gzip header is damaged');
  const flags = header[3]!;
  if ((flags & FLAG.extra) !== 0) {
    const [low, high] = await takeBytes(input, 2, 'the gzip header');
    await takeBytes(input, low! | (high! << 8), 'the gzip header');
  }
  for (const flag of [FLAG.name, FLAG.comment]) {
    if ((flags & flag) !== 0) await passText(input);
  }
  if ((flags & FLAG.headerChecksum) !== 0) await takeBytes(input, 2, 'the gzip header');
}

async function passText(input: Input): Promise<void> {
  for (;;) {
    const chunk = await input.peek(1);
    if (chunk.length === 0) throw new Damage('the data ends within the gzip header');
    const end = chunk.indexOf(0);
    input.consume(end < 0 ? chunk.length : end + 1);
    if (end >= 0) return;
  }
}

/** Returns the name in the first member's header as bytes; null if it has none or `head` does not contain it. */
export function gzipName(head: Uint8Array): Uint8Array | null {
  const flags = head[3] ?? 0;
  if (!isGzipMagic(head) || (flags & FLAG.name) === 0) return null;
  const start = (flags & FLAG.extra) === 0 ? 10 : 12 + ((head[10] ?? 0) | ((head[11] ?? 0) << 8));
  const end = head.indexOf(0, start);
  return end > start ? head.slice(start, end) : null;
}

/** Skips padding and returns whether another part follows. */
export async function isFollowed(
  input: Input,
  isMagic: (bytes: Uint8Array) => boolean,
  length: number,
): Promise<boolean> {
  for (;;) {
    const chunk = await input.peek(length);
    if (chunk.length === 0) return false;
    if (chunk[0] !== 0) return isMagic(chunk);
    const content = chunk.findIndex((byte) => byte !== 0);
    input.consume(content < 0 ? chunk.length : content);
  }
}

/** Returns a remark if data follows the end. */
export async function trailingRemark(input: Input): Promise<Remark | undefined> {
  if ((await input.peek(1)).length === 0) return undefined;
  const message = 'data after the end of the compressed data was ignored';
  return { code: 'malformed_archive', message, extent: 'partial' };
}
