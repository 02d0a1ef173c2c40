/** Pseudo-random numbers that are the same for the same seed on every machine (sfc32). */
export class PseudoRandom {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9 | 0;
    this.#c = 0x243f6a88 | 0;
    for (let round = 0; round < 16; round += 1) this.next();
  }

  /** From 0 up to 2^32 - 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** From 0 up to, but not including, `bound`. */
  below(bound: number): number {
    return Math.floor((this.next() / 2 ** 32) * bound);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Characters of an alphabet. */
  text(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet[this.below(alphabet.length)]!).join('');
  }

  fill(target: Buffer): Buffer {
    let at = 0;
    for (; at + 4 <= target.length; at += 4) target.writeUInt32LE(this.next(), at);
    for (; at < target.length; at += 1) target[at] = this.next() & 255;
    return target;
  }
}
