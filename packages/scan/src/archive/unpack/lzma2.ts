import type { Input } from '../byte-source.ts';
import { LzmaDecoder } from './lzma.ts';
import { Damage, takeBytes } from './unpacker.ts';

const PIECE_BYTES = 256 * 1024;

/** Decompresses one LZMA2 stream: chunks of up to 64 KiB compressed and 2 MiB unpacked. Holds the dictionary. */
export class Lzma2Unpacker {
  readonly #input: Input;
  readonly #decoder: LzmaDecoder;
  /** Unpacked bytes remaining in the current chunk. */
  #left = 0;
  #isPacked = false;
  #needsDictionary = true;
  #needsProperties = true;

  constructor(input: Input, dictionaryBytes: number) {
    this.#input = input;
    this.#decoder = new LzmaDecoder(dictionaryBytes);
  }

  /** Returns the next bytes as a view of the dictionary; null after the last. */
  async next(): Promise<Uint8Array | null> {
    if (this.#left === 0 && !(await this.#begin())) return null;
    const decoder = this.#decoder;
    if (decoder.position === decoder.window.length) decoder.position = 0;
    const from = decoder.position;
    const count = Math.min(this.#left, PIECE_BYTES, decoder.window.length - from);
    if (this.#isPacked) {
      decoder.decode(from + count);
    } else {
      decoder.copy(await this.#takeStored(count));
    }
    this.#left -= decoder.position - from;
    if (this.#left === 0 && this.#isPacked) decoder.endChunk();
    return decoder.window.subarray(from, decoder.position);
  }

  async #takeStored(count: number): Promise<Uint8Array> {
    const chunk = await this.#input.peek(1);
    if (chunk.length === 0) throw new Damage('the data ends too early');
    const bytes = chunk.slice(0, Math.min(count, chunk.length));
    this.#input.consume(bytes.length);
    return bytes;
  }

  /** Reads the header of the next chunk and, if it is compressed, all of it; returns false at the end. */
  async #begin(): Promise<boolean> {
    const control = (await takeBytes(this.#input, 1, 'a block'))[0]!;
    if (control === 0) return false;
    const resetsDictionary = control === 1 || control >= 0xe0;
    if (resetsDictionary) this.#decoder.resetDictionary();
    else if (this.#needsDictionary) throw damaged();
    this.#needsDictionary = false;
    this.#isPacked = control >= 0x80;
    if (!this.#isPacked) {
      if (control > 2) throw damaged();
      const size = await takeBytes(this.#input, 2, 'a block');
      this.#left = ((size[0]! << 8) | size[1]!) + 1;
      return true;
    }
    await this.#beginPacked(control);
    return true;
  }

  async #beginPacked(control: number): Promise<void> {
    const header = await takeBytes(this.#input, 4, 'a block');
    this.#left = (((control & 0x1f) << 16) | (header[0]! << 8) | header[1]!) + 1;
    const packedBytes = ((header[2]! << 8) | header[3]!) + 1;
    if (control >= 0xc0) this.#decoder.setProperties((await takeBytes(this.#input, 1, 'a block'))[0]!);
    else if (this.#needsProperties) throw damaged();
    else if (control >= 0xa0) this.#decoder.resetState();
    this.#needsProperties = false;
    const packed = await this.#input.peek(packedBytes);
    if (packed.length < packedBytes) throw new Damage('the data ends too early');
    this.#decoder.packed.set(packed.subarray(0, packedBytes));
    this.#input.consume(packedBytes);
    this.#decoder.beginChunk(packedBytes);
  }
}

function damaged(): Damage {
  return new Damage('the LZMA data is damaged');
}
