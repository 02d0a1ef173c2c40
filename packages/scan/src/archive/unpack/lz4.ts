import type { Input } from '../byte-source.ts';
import { isFollowed, trailingRemark } from './gzip.ts';
import { Damage, takeBytes, type Remark, type Unpacker } from './unpacker.ts';

/** Bytes before a block that it may refer to. */
const HISTORY_BYTES = 64 * 1024;
const BLOCK_BYTES = [64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024];
const LEGACY_BLOCK_BYTES = 8 * 1024 * 1024;
const FRAME = 0x184d2204;
const LEGACY_FRAME = 0x184c2102;
const STORED = 0x80000000;

interface Frame {
  isLegacy: boolean;
  isLinked: boolean;
  blockBytes: number;
  hasBlockChecksums: boolean;
  hasChecksum: boolean;
}

/**
 * Decompresses the concatenated frames of an LZ4 file, older ones too, and ignores skippable frames. Holds one block
 * and its packed form: at most 8 MiB each for older frames, 4 MiB for others. Checksums are not verified.
 */
export class Lz4Unpacker implements Unpacker {
  readonly #input: Input;
  #frame: Frame | null = null;
  #frames = 0;
  /** History, and the current block behind it. */
  #window = new Uint8Array(0);
  #filled = 0;
  #packed = new Uint8Array(0);
  #remark: Remark | undefined;

  constructor(input: Input) {
    this.#input = input;
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#frame === null && !(await this.#begin())) return null;
      const piece = await this.#block(this.#frame!);
      if (piece === null) this.#frame = null;
      else if (piece.length > 0) return piece;
    }
  }

  async #begin(): Promise<boolean> {
    for (;;) {
      const head = await this.#input.peek(4);
      if (head.length === 0 && this.#frames > 0) return false;
      const magic = head.length < 4 ? 0 : numberAt(head, 0);
      if ((magic & 0xfffffff0) >>> 0 === 0x184d2a50) {
        await this.#skipFrame();
        continue;
      }
      if (magic === FRAME || magic === LEGACY_FRAME) {
        this.#input.consume(4);
        this.#frames += 1;
        this.#frame = magic === FRAME ? await this.#readHeader() : { ...LEGACY };
        this.#window = new Uint8Array(HISTORY_BYTES + this.#frame.blockBytes);
        this.#filled = 0;
        return true;
      }
      if (this.#frames === 0) throw new Damage('the LZ4 header is damaged');
      if (!(await isFollowed(this.#input, isFrame, 4))) {
        this.#remark = await trailingRemark(this.#input);
        return false;
      }
    }
  }

  async #skipFrame(): Promise<void> {
    let left = numberAt(await takeBytes(this.#input, 8, 'a frame'), 4);
    while (left > 0) {
      const chunk = await this.#input.peek(1);
      if (chunk.length === 0) throw new Damage('the data ends within a frame');
      const count = Math.min(left, chunk.length);
      this.#input.consume(count);
      left -= count;
    }
  }

  async #readHeader(): Promise<Frame> {
    const [flags = 0, blocks = 0] = await takeBytes(this.#input, 2, 'the LZ4 header');
    const blockBytes = BLOCK_BYTES[((blocks >> 4) & 7) - 4];
    if (flags >> 6 !== 1 || blockBytes === undefined) throw new Damage('the LZ4 header is damaged');
    if ((flags & 1) !== 0) throw new Damage('the data needs a dictionary, which it lacks', 'unsupported_archive');
    await takeBytes(this.#input, ((flags & 8) === 0 ? 0 : 8) + 1, 'the LZ4 header');
    return {
      isLegacy: false,
      isLinked: (flags & 0x20) === 0,
      blockBytes,
      hasBlockChecksums: (flags & 0x10) !== 0,
      hasChecksum: (flags & 4) !== 0,
    };
  }

  /** Returns the next block of the frame; null after the last. */
  async #block(frame: Frame): Promise<Uint8Array | null> {
    const input = this.#input;
    if (frame.isLegacy) {
      const head = await input.peek(4);
      // An older frame has no end: it ends with the data or at another frame.
      if (head.length === 0 || (head.length >= 4 && (isFrame(head) || numberAt(head, 0) > LEGACY_PACKED_MAX)))
        return null;
    }
    const stated = numberAt(await takeBytes(input, 4, 'a block'), 0);
    if (stated === 0 && !frame.isLegacy) {
      if (frame.hasChecksum) await takeBytes(input, 4, 'the checksum');
      return null;
    }
    const isStored = !frame.isLegacy && stated >= STORED;
    const length = isStored ? stated - STORED : stated;
    if (length > (frame.isLegacy ? LEGACY_PACKED_MAX : frame.blockBytes)) throw damaged();
    await this.#takePacked(length);
    if (frame.hasBlockChecksums) await takeBytes(input, 4, 'the checksum of a block');
    return this.#unpack(length, isStored, frame);
  }

  async #takePacked(length: number): Promise<void> {
    if (this.#packed.length < length) this.#packed = new Uint8Array(length);
    for (let taken = 0; taken < length;) {
      const chunk = await this.#input.peek(1);
      if (chunk.length === 0) throw new Damage('the data ends within a block');
      const count = Math.min(chunk.length, length - taken);
      this.#packed.set(chunk.subarray(0, count), taken);
      this.#input.consume(count);
      taken += count;
    }
  }

  #unpack(length: number, isStored: boolean, { isLinked, blockBytes }: Frame): Uint8Array {
    const kept = isLinked ? Math.min(HISTORY_BYTES, this.#filled) : 0;
    this.#window.copyWithin(0, this.#filled - kept, this.#filled);
    const packed = this.#packed.subarray(0, length);
    if (isStored) this.#window.set(packed, kept);
    this.#filled = isStored ? kept + length : unpackBlock(packed, this.#window, kept, kept + blockBytes);
    return this.#window.subarray(kept, this.#filled);
  }

  remark(): Remark | undefined {
    return this.#remark;
  }

  close(): void {
    this.#window = this.#packed = new Uint8Array(0);
    this.#frame = null;
  }
}

/** The packed form of a block that does not become smaller. */
const LEGACY_PACKED_MAX = LEGACY_BLOCK_BYTES + LEGACY_BLOCK_BYTES / 255 + 16;
const LEGACY: Frame = {
  isLegacy: true,
  isLinked: false,
  blockBytes: LEGACY_BLOCK_BYTES,
  hasBlockChecksums: false,
  hasChecksum: false,
};

/** Unpacks a block into `target` from `start`, at most up to `limit`; returns where it ends. */
function unpackBlock(packed: Uint8Array, target: Uint8Array, start: number, limit: number): number {
  let at = 0;
  let to = start;
  const extended = (base: number): number => {
    let length = base;
    for (let byte = 255; base === 15 && byte === 255; length += byte) {
      if (at >= packed.length) throw damaged();
      byte = packed[at++]!;
    }
    return length;
  };
  while (at < packed.length) {
    const token = packed[at++]!;
    const literals = extended(token >> 4);
    if (literals > packed.length - at || to + literals > limit) throw damaged();
    target.set(packed.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    if (at === packed.length) break;
    if (at + 2 > packed.length) throw damaged();
    const distance = packed[at]! | (packed[at + 1]! << 8);
    at += 2;
    const length = extended(token & 15) + 4;
    if (distance === 0 || distance > to || to + length > limit) throw damaged();
    if (distance >= length) target.copyWithin(to, to - distance, to - distance + length);
    else for (let index = 0; index < length; index++) target[to + index] = target[to + index - distance]!;
    to += length;
  }
  return to;
}

function isFrame(head: Uint8Array): boolean {
  const magic = numberAt(head, 0);
  return magic === FRAME || magic === LEGACY_FRAME || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

function numberAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}

function damaged(): Damage {
  return new Damage('the LZ4 data is damaged');
}
