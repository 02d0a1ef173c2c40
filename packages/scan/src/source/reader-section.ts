import type { ObjectReader } from './port.ts';

/** Reads a part of an object as one of its own. */
export class ReaderSection implements ObjectReader {
  readonly access = 'range';
  readonly size: number;
  readonly #inner: ObjectReader;
  readonly #from: number;

  constructor(inner: ObjectReader, from: number, size: number) {
    this.#inner = inner;
    this.#from = from;
    this.size = size;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    const count = Math.min(length, this.size - offset);
    return count <= 0 ? 0 : this.#inner.read(target, start, count, this.#from + offset);
  }

  close(): ReturnType<ObjectReader['close']> {
    return this.#inner.close();
  }
}
