/**
 * Sequence numbers that authenticate an answer: a keyed hash of address and port whose low bits encode the slot. An
 * off-path attacker has one chance in 2^32, and finding the slot needs no lookup.
 *
 * The hash is HalfSipHash-1-3, designed for 32-bit arithmetic and short inputs.
 */
export class CookieKey {
  readonly #key0: number;
  readonly #key1: number;

  /** @param key 8 cryptographically random bytes */
  constructor(key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
    this.#key0 = view.getInt32(0, true);
    this.#key1 = view.getInt32(4, true);
  }

  /** Hashes an address as four words (IPv4: the first, the others zero) and a port to an unsigned 32-bit number. */
  hash(word0: number, word1: number, word2: number, word3: number, port: number): number {
    let v0 = this.#key0;
    let v1 = this.#key1;
    let v2 = 0x6c796765 ^ this.#key0;
    let v3 = 0x74656462 ^ this.#key1;
    for (let step = 0; step < 9; step++) {
      const word = step === 0 ? word0 : step === 1 ? word1 : step === 2 ? word2 : step === 3 ? word3 : port;
      // Five words, the length, then three rounds without input.
      const mixed = step < 5 ? word : step === 5 ? 20 << 24 : 0;
      if (step === 6) v2 ^= 0xff;
      v3 ^= mixed;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= mixed;
    }
    return (v1 ^ v3) >>> 0;
  }
}
