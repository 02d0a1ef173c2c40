import type { Problem, ProblemCode } from '../../result.ts';
import type { Input } from '../byte-source.ts';

/** Unpacks piece by piece, as fast as it is asked to, in bounded memory. */
export interface Unpacker {
  /** The next bytes (at least one, at most some hundred KiB), valid until the next call; null after the last. Throws or rejects with `Damage`. */
  next(): Uint8Array | null | Promise<Uint8Array | null>;
  /** What is worth saying at the end. */
  remark?(): Remark | undefined;
  /** At any time, also while something is left; gives back everything it holds. */
  close(): void;
}

/** A problem before it has a path. */
export type Remark = Omit<Problem, 'path'>;

/** Packed data that cannot be unpacked on; who reads it says which object that is. */
export class Damage extends Error {
  readonly code: ProblemCode;

  constructor(message: string, code: ProblemCode = 'malformed_archive') {
    super(message);
    this.name = 'Damage';
    this.code = code;
  }
}

/** Exactly `length` bytes, copied. Throws `Damage` where the input ends before. */
export async function takeBytes(input: Input, length: number, what: string): Promise<Uint8Array> {
  const chunk = await input.peek(length);
  if (chunk.length < length) throw new Damage(`the data ends within ${what}`);
  const bytes = chunk.slice(0, length);
  input.consume(length);
  return bytes;
}

/** Bytes that stand there as they are. */
export class StoredUnpacker implements Unpacker {
  readonly #input: Input;
  #seen = 0;
  #left: number;

  /** Ends after `length` bytes; an input that ends before is damaged. `Infinity`: ends with the input. */
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
