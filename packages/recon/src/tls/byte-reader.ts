import { malformed } from './fault.ts';

/** Reads numbers and vectors of the TLS presentation language; truncated input is a fault that names what was read. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  uint8(): number {
    this.#need(1);
    return this.#bytes[this.#at++]!;
  }

  uint16(): number {
    this.#need(2);
    const value = (this.#bytes[this.#at]! << 8) | this.#bytes[this.#at + 1]!;
    this.#at += 2;
    return value;
  }

  uint24(): number {
    return (this.uint8() << 16) | this.uint16();
  }

  take(length: number): Uint8Array {
    this.#need(length);
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  vector8(): Uint8Array {
    return this.take(this.uint8());
  }

  vector16(): Uint8Array {
    return this.take(this.uint16());
  }

  vector24(): Uint8Array {
    return this.take(this.uint24());
  }

  #need(length: number): void {
    if (length > this.left) throw malformed(`${this.#what} is truncated`);
  }
}
