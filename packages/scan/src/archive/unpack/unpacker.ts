import type { Problem, ProblemCode } from '../../result.ts';
import type { Input } from '../byte-source.ts';

/** Decompresses piece by piece on demand, in bounded memory. */
export interface Unpacker {
  /**
   * Returns the next bytes (one to some hundred KiB), valid until the next call; null after the last. Throws or
   * rejects with `Damage`.
   */
  next(): Uint8Array | null | Promise<Uint8Array | null>;
  /** A remark that is reported at the end. */
  remark?(): Remark | undefined;
  /** Releases all resources; may be called at any time. */
  close(): void;
}

/** A problem without a path. */
export type Remark = Omit<Problem, 'path'>;

/** Compressed data that cannot be decoded further; the reader adds the path. */
export class Damage extends Error {
  readonly code: ProblemCode;

  constructor(message: string, code: ProblemCode = 'malformed_archive') {
    super(message);
    this.name = 'Damage';
    this.code = code;
  }
}

/** Returns a copy of exactly `length` bytes. Throws `Damage` if the input ends first. */
export async function takeBytes(input: Input, length: number, what: string): Promise<Uint8Array> {
  const chunk = await input.peek(length);
  if (chunk.length < length) throw new Damage(`the data ends within ${what}`);
  const bytes = chunk.slice(0, length);
  input.consume(length);
  return bytes;
}

/** Passes uncompressed bytes through. */
export class StoredUnpacker implements Unpacker {
  readonly #input: Input;
  #seen = 0;
  #left: number;

  /** Ends after `length` bytes; an input that ends earlier is damaged. `Infinity`: ends with the input. */
  constructor(input: Input, length: number) {
    this.#input = input;
    this.#left = length;
  }

  async next(): Promise<Uint8Array | null> {
    this.#input.consume(this.#seen);
    this.#seen = 0;
    if (this.#left === 0) return null;
    const chunk = await this.#input.peek(1);
    if (chunk.length === 0) {
      if (this.#left === Infinity) return null;
      throw new Damage(`the data ends ${this.#left} bytes too early`);
    }
    this.#seen = Math.min(chunk.length, this.#left);
    this.#left -= this.#seen;
    return chunk.subarray(0, this.#seen);
  }

  close(): void {
    this.#input.consume(this.#seen);
    this.#seen = 0;
  }
}

/** Delivers bytes that are already unpacked. */
export class BytesUnpacker implements Unpacker {
  #bytes: Uint8Array | null;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.length === 0 ? null : bytes;
  }

  next(): Uint8Array | null {
    const bytes = this.#bytes;
    this.#bytes = null;
    return bytes;
  }

  close(): void {
    this.#bytes = null;
  }
}

/** Defers the creation of an unpacker until its first use. */
export class LazyUnpacker implements Unpacker {
  readonly #make: () => Promise<Unpacker>;
  #unpacker: Unpacker | null = null;

  constructor(make: () => Promise<Unpacker>) {
    this.#make = make;
  }

  next(): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#unpacker === null ? this.#begin() : this.#unpacker.next();
  }

  async #begin(): Promise<Uint8Array | null> {
    this.#unpacker = await this.#make();
    return this.#unpacker.next();
  }

  remark(): Remark | undefined {
    return this.#unpacker?.remark?.();
  }

  close(): void {
    this.#unpacker?.close();
  }
}
