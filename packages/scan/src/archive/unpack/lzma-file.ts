import type { Input } from '../byte-source.ts';
import { LzmaStreamUnpacker } from './lzma-stream.ts';
import { takeBytes, type Unpacker } from './unpacker.ts';

const HEADER_BYTES = 13;

/** Decompresses an LZMA file: one stream after a header of its properties, its dictionary and its size. */
export class LzmaFileUnpacker implements Unpacker {
  readonly #input: Input;
  #stream: LzmaStreamUnpacker | null = null;

  constructor(input: Input) {
    this.#input = input;
  }

  async next(): Promise<Uint8Array | null> {
    this.#stream ??= await this.#begin();
    return this.#stream.next();
  }

  async #begin(): Promise<LzmaStreamUnpacker> {
    const header = Buffer.from(await takeBytes(this.#input, HEADER_BYTES, 'its header'));
    const size = header.readBigInt64LE(5);
    return new LzmaStreamUnpacker(this.#input, {
      properties: header[0]!,
      dictionaryBytes: header.readUInt32LE(1),
      size: size < 0n ? Infinity : Number(size),
    });
  }

  close(): void {
    this.#stream?.close();
  }
}
