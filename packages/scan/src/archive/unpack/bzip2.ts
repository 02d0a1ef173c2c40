import type { Input } from '../byte-source.ts';
import { BitReader } from './bit-reader.ts';
import { Bzip2Block, GROUP_BYTES, HEADER_BYTES } from './bzip2-block.ts';
import { Damage, type Remark, type Unpacker } from './unpacker.ts';

const BLOCK_MARK = [0x314159, 0x265359] as const;
const END_MARK = [0x177245, 0x385090] as const;
const PIECE_BYTES = 128 * 1024;
/** Groups of symbols between two reads of the input. */
const GROUPS_AT_ONCE = 256;

/** Decompresses the concatenated streams of a bzip2 file. Holds one block: 3.6 MB. */
export class Bzip2Unpacker implements Unpacker {
  readonly #bits: BitReader;
  readonly #piece = new Uint8Array(PIECE_BYTES);
  #block: Bzip2Block | null = null;
  #blockSize = 0;
  #streams = 0;
  #remark: Remark | undefined;
  // State of the block that is being delivered.
  #left = 0;
  #place = 0;
  #last = -1;
  #repeats = 0;
  #copies = 0;
  #crc = 0;
  /** True if the block's checksum is wrong; reported after its bytes are delivered. */
  #isWrong = false;

  constructor(input: Input) {
    this.#bits = new BitReader(input);
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      const length = this.#hasContent() ? this.#unfold() : 0;
      if (length > 0) return this.#piece.subarray(0, length);
      if (!(await this.#readBlock())) return null;
    }
  }

  #hasContent(): boolean {
    return this.#left > 0 || this.#copies > 0;
  }

  /** Reads the next block; returns false after the last one of the last stream. */
  async #readBlock(): Promise<boolean> {
    if (this.#isWrong) throw new Damage('the checksum of a bzip2 block is wrong');
    const bits = this.#bits;
    for (;;) {
      await bits.fill(HEADER_BYTES);
      if (this.#blockSize === 0 && !this.#beginStream()) return false;
      const mark = [bits.take(24), bits.take(24)];
      if (mark[0] === BLOCK_MARK[0] && mark[1] === BLOCK_MARK[1]) break;
      if (mark[0] !== END_MARK[0] || mark[1] !== END_MARK[1]) throw new Damage('the bzip2 data is damaged');
      // The checksum of the stream combines those of its blocks, which were verified.
      bits.take32();
      bits.align();
      this.#blockSize = 0;
    }
    if (this.#block?.cells.length !== this.#blockSize) this.#block = new Bzip2Block(bits, this.#blockSize);
    const block = this.#block;
    block.begin();
    for (let isEnd = false; !isEnd;) {
      if (!bits.has(GROUP_BYTES * GROUPS_AT_ONCE)) await bits.fill(GROUP_BYTES * GROUPS_AT_ONCE);
      for (let i = 0; i < GROUPS_AT_ONCE && !isEnd; i++) isEnd = block.readGroup();
    }
    this.#left = block.length;
    if (block.length > 0) this.#place = block.unsort();
    this.#last = -1;
    this.#repeats = this.#copies = 0;
    this.#crc = -1;
    return true;
  }

  /** Reads a stream's header; returns false if none follows. */
  #beginStream(): boolean {
    const head = this.#bits.rest;
    const content = head.findIndex((byte) => byte !== 0);
    const isStream = head[0] === 0x42 && head[1] === 0x5a && head[2] === 0x68 && head[3]! >= 0x31 && head[3]! <= 0x39;
    if (!isStream) {
      if (this.#streams === 0) throw new Damage('the bzip2 header is damaged');
      const message = 'data after the end of the compressed data was ignored';
      if (content >= 0) this.#remark = { code: 'malformed_archive', message, extent: 'partial' };
      return false;
    }
    this.#streams++;
    this.#bits.take(24);
    this.#blockSize = (this.#bits.take(8) - 0x30) * 100_000;
    return true;
  }

  /** Expands the block's bytes into a piece: four equal bytes are followed by the count of further repetitions. */
  #unfold(): number {
    const piece = this.#piece;
    const { cells } = this.#block!;
    let length = 0;
    let [left, place, last, repeats, copies] = [this.#left, this.#place, this.#last, this.#repeats, this.#copies];
    while (length < PIECE_BYTES) {
      if (copies > 0) {
        const end = Math.min(PIECE_BYTES, length + copies);
        piece.fill(last, length, end);
        copies -= end - length;
        length = end;
        continue;
      }
      if (left === 0) break;
      left--;
      const cell = cells[place]!;
      place = cell >>> 8;
      const byte = cell & 0xff;
      if (repeats === 4) {
        copies = byte;
        repeats = 0;
        continue;
      }
      repeats = byte === last ? repeats + 1 : 1;
      last = byte;
      piece[length++] = byte;
    }
    [this.#left, this.#place, this.#last, this.#repeats, this.#copies] = [left, place, last, repeats, copies];
    this.#check(length);
    return length;
  }

  #check(length: number): void {
    this.#crc = crcOf(this.#piece, length, this.#crc);
    this.#isWrong = !this.#hasContent() && ~this.#crc >>> 0 !== this.#block!.crc;
  }

  remark(): Remark | undefined {
    return this.#remark;
  }

  close(): void {
    this.#block = null;
    this.#left = this.#copies = 0;
  }
}

/** bzip2 uses the polynomial of CRC-32 with the highest bit first. */
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24;
  for (let i = 0; i < 8; i++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  return crc;
});

function crcOf(bytes: Uint8Array, length: number, crc: number): number {
  for (let i = 0; i < length; i++) crc = (crc << 8) ^ CRC_TABLE[(crc >>> 24) ^ bytes[i]!]!;
  return crc;
}
