import type { ObjectReader } from './port.ts';

/** Reads an object that is in memory. */
export class BytesReader implements ObjectReader {
  readonly access = 'range';
  readonly size: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number {
    return this.#bytes.copy(target, start, offset, offset + length);
  }

  close(): undefined {
    return undefined;
  }
}
