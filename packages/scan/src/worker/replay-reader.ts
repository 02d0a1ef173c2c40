import type { Problem } from '../result.ts';
import type { ObjectReader } from '../source/port.ts';

/** Reads an object whose beginning was already read: that part comes from memory, the rest from its reader. */
export class ReplayReader implements ObjectReader {
  readonly access = 'carry';
  readonly #inner: ObjectReader;
  readonly #head: Uint8Array;
  /** True if the head is complete, or all that is needed. */
  #headIsAll: boolean;
  #hasPassedHead = false;

  constructor(inner: ObjectReader, head: Uint8Array, headIsAll: boolean) {
    this.#inner = inner;
    this.#head = head;
    this.#headIsAll = headIsAll;
  }

  get size(): number {
    return this.#headIsAll ? this.#head.length : this.#inner.size;
  }

  /** True if the object can be read completely once more. */
  get canRewind(): boolean {
    return !this.#hasPassedHead;
  }

  /** Restricts the reader to the head from here on. */
  keepHead(): void {
    this.#headIsAll = true;
  }

  read(target: Uint8Array, start: number, length: number, offset: number): number | Promise<number> {
    const left = this.#head.length - offset;
    if (left > 0) {
      const count = Math.min(left, length);
      target.set(this.#head.subarray(offset, offset + count), start);
      return count;
    }
    if (this.#headIsAll) return 0;
    this.#hasPassedHead = true;
    return this.#inner.read(target, start, length, offset);
  }

  close(): Problem | undefined | Promise<Problem | undefined> {
    return this.#inner.close();
  }
}

/** Returns the reader without `close`: the owner closes it. */
export function withoutClose(reader: ObjectReader): ObjectReader {
  return {
    size: reader.size,
    access: reader.access,
    read: (target, start, length, offset) => reader.read(target, start, length, offset),
    close: () => undefined,
  };
}
