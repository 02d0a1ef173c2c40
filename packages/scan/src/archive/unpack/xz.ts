import { crc32 } from 'node:zlib';

import type { Input } from '../byte-source.ts';
import { bytesText } from '../context.ts';
import { isFollowed, trailingRemark } from './gzip.ts';
import { Lzma2Unpacker } from './lzma2.ts';
import { Damage, takeBytes, type Remark, type Unpacker } from './unpacker.ts';
import { XzCheck } from './xz-check.ts';

/** A file may demand 4 GiB; `xz -9` demands 64 MiB. */
const DICTIONARY_BYTES_MAX = 128 * 1024 * 1024;

const LZMA2 = 0x21;
const FILTERS: Readonly<Record<number, string>> = {
  3: 'delta',
  4: 'x86',
  5: 'PowerPC',
  6: 'IA-64',
  7: 'ARM',
  8: 'ARM-Thumb',
  9: 'SPARC',
  10: 'ARM64',
  11: 'RISC-V',
};

/** Decompresses the concatenated streams of an xz file and their blocks. */
export class XzUnpacker implements Unpacker {
  readonly #input: Input;
  #checkType = 0;
  #check = new XzCheck(0);
  #streams = 0;
  #isInStream = false;
  #block: Lzma2Unpacker | null = null;
  /** Reused for the next block unless that needs a larger one. */
  #dictionaryBytes = 0;
  #packedBytes = 0;
  #remark: Remark | undefined;

  constructor(input: Input) {
    this.#input = { peek: (length) => input.peek(length), consume: (length) => this.#count(input, length) };
  }

  #count(input: Input, length: number): void {
    input.consume(length);
    this.#packedBytes += length;
  }

  async next(): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#block === null && !(await this.#begin())) return null;
      const piece = await this.#block!.next();
      if (piece !== null) {
        this.#check.update(piece);
        return piece;
      }
      await this.#endBlock();
    }
  }

  /** Opens the next block; returns false if there is none. */
  async #begin(): Promise<boolean> {
    for (;;) {
      if (!this.#isInStream && !(await this.#beginStream())) return false;
      this.#packedBytes = 0;
      const first = (await takeBytes(this.#input, 1, 'a stream'))[0]!;
      if (first !== 0) {
        await this.#beginBlock(first);
        return true;
      }
      await this.#passIndex();
      this.#isInStream = false;
    }
  }

  async #beginStream(): Promise<boolean> {
    if (this.#streams > 0 && !(await isFollowed(this.#input, isXzMagic, 6))) {
      this.#remark = await trailingRemark(this.#input);
      return false;
    }
    const header = await takeBytes(this.#input, 12, 'the xz header');
    if (!isXzMagic(header) || viewOf(header).getUint32(8, true) !== crc32(header.subarray(6, 8)))
      throw new Damage('the xz header is damaged');
    if (header[6] !== 0 || header[7]! > 15)
      throw new Damage('this version of xz is not supported', 'unsupported_archive');
    this.#checkType = header[7]!;
    this.#streams++;
    this.#isInStream = true;
    return true;
  }

  async #beginBlock(first: number): Promise<void> {
    const length = (first + 1) * 4;
    const rest = await takeBytes(this.#input, length - 1, "a block's header");
    const header = Buffer.concat([Buffer.of(first), rest]);
    if (header.readUInt32LE(length - 4) !== crc32(header.subarray(0, length - 4)))
      throw new Damage("a block's header is damaged");
    const dictionaryBytes = dictionaryOf(header);
    if (dictionaryBytes > DICTIONARY_BYTES_MAX) {
      const message = `the data needs ${bytesText(dictionaryBytes)} of memory to unpack, more than ${bytesText(DICTIONARY_BYTES_MAX)}`;
      throw new Damage(message, 'unsupported_archive');
    }
    this.#dictionaryBytes = Math.max(this.#dictionaryBytes, dictionaryBytes);
    this.#block = new Lzma2Unpacker(this.#input, this.#dictionaryBytes);
    this.#check = new XzCheck(this.#checkType);
  }

  async #endBlock(): Promise<void> {
    this.#block = null;
    await this.#passPadding();
    const stated = await takeBytes(this.#input, this.#check.bytes, "a block's checksum");
    if (!this.#check.matches(stated)) throw new Damage('the checksum of an xz block is wrong');
  }

  /** Blocks and the index are padded to multiples of 4 bytes. */
  async #passPadding(): Promise<void> {
    const padding = await takeBytes(this.#input, (4 - (this.#packedBytes % 4)) % 4, 'a block');
    if (padding.some((byte) => byte !== 0)) throw new Damage('the xz data is damaged');
  }

  /** Skips the index at a stream's end and its footer. */
  async #passIndex(): Promise<void> {
    for (let left = 2 * (await this.#takeNumber()); left > 0; left--) await this.#takeNumber();
    await this.#passPadding();
    const end = await takeBytes(this.#input, 16, "the stream's end");
    if (end[14] !== 0x59 || end[15] !== 0x5a) throw new Damage("the stream's end is damaged");
  }

  async #takeNumber(): Promise<number> {
    let value = 0;
    for (let i = 0; i < 9; i++) {
      const byte = (await takeBytes(this.#input, 1, 'the index'))[0]!;
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new Damage('the index is damaged');
  }

  remark(): Remark | undefined {
    return this.#remark;
  }

  close(): void {
    this.#block = null;
  }
}

function isXzMagic(head: Uint8Array): boolean {
  return [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0].every((byte, i) => head[i] === byte);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Returns the dictionary size that a block's only filter demands. */
function dictionaryOf(header: Buffer): number {
  const flags = header[1]!;
  let at = 2;
  for (const flag of [0x40, 0x80]) {
    if ((flags & flag) === 0) continue;
    while (header[at++]! >= 0x80) if (at > header.length) throw new Damage("a block's header is damaged");
  }
  const filter = header[at]!;
  if (filter !== LZMA2 || (flags & 3) !== 0) {
    const name = FILTERS[filter] ?? `filter ${filter}`;
    throw new Damage(`the data uses a filter that is not supported (${name})`, 'unsupported_archive');
  }
  const bits = header[at + 2]!;
  if (header[at + 1] !== 1 || bits > 40) throw new Damage("a block's header is damaged");
  return bits === 40 ? 2 ** 32 - 1 : (2 | (bits & 1)) * 2 ** (Math.floor(bits / 2) + 11);
}
