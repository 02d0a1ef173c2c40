import { seededRandom, type Random } from '@heddle/base/random';

/** Seeded random choices of one run. */
export class Dice implements Random {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  next(): number {
    return this.#random.next();
  }

  bytes(n: number): Uint8Array {
    return this.#random.bytes(n);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** An integer, both bounds included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.between(0, items.length - 1)]!;
  }

  uuid(): string {
    const hex = Buffer.from(this.bytes(16)).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
}
