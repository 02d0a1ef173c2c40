/**
 * A random order of the numbers below a size that is not stored: a Feistel network over two halves whose product is
 * the size or slightly more, iterated where it leaves the size. The halves are below 2^27, so each round is
 * small-integer arithmetic.
 */
export class Permutation {
  readonly size: number;
  readonly #left: number;
  readonly #right: number;
  readonly #keys: Int32Array;

  /**
   * @param size from 0 to 2^53
   * @param seed any whole number; the same seed gives the same order
   * @param purpose separates several orders of one seed
   */
  constructor(size: number, seed: number, purpose = 0) {
    this.size = size;
    this.#left = Math.max(1, Math.ceil(Math.sqrt(size)));
    this.#right = Math.max(1, Math.ceil(size / this.#left));
    this.#keys = keysOf(seed, purpose);
  }

  /** Maps an index to its number; distinct for each index below the size. */
  at(index: number): number {
    let value = index;
    do {
      value = this.#encrypt(value);
    } while (value >= this.size);
    return value;
  }

  #encrypt(value: number): number {
    const [left, right, keys] = [this.#left, this.#right, this.#keys];
    let high = Math.floor(value / left);
    let low = value - high * left;
    for (let round = 0; round < ROUNDS; round += 2) {
      low += mix(high ^ keys[round]!) % left;
      if (low >= left) low -= left;
      high += mix(low ^ keys[round + 1]!) % right;
      if (high >= right) high -= right;
    }
    return high * left + low;
  }
}

const ROUNDS = 6;

/** Mixes 32 bits into 31, which fit a small integer. */
function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 1;
}

function keysOf(seed: number, purpose: number): Int32Array {
  const whole = Math.floor(Math.abs(seed));
  let state = mix((whole >>> 0) ^ mix(Math.floor(whole / 2 ** 32) + 0x9e3779b9)) ^ mix(purpose + 0x85ebca6b);
  if (seed < 0) state = ~state;
  return Int32Array.from({ length: ROUNDS }, () => {
    state = (state + 0x9e3779b9) | 0;
    return mix(state);
  });
}
