/** Size of a nonce, bytes. */
export const NONCE_BYTES = 16;
const WORDS = NONCE_BYTES / 4;
const CAPACITY_MIN = 8;
/** Maximum load of a table before it grows, in eighths. */
const FULL_EIGHTHS = 6;

/** Size of a NonceHash seed, bytes. */
export const HASH_SEED_BYTES = NONCE_BYTES * 256 * 4;

/**
 * A nonce and its hash: simple tabulation over random tables, so that a caller who chooses nonces cannot choose their
 * slots. Reused for one nonce at a time.
 */
export class NonceHash {
  readonly #tables: Uint32Array;
  readonly bytes = Buffer.alloc(NONCE_BYTES);
  readonly words = new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, WORDS);
  hash = 0;

  /** @param seed HASH_SEED_BYTES random bytes */
  constructor(seed: Uint8Array) {
    this.#tables = new Uint32Array(Uint8Array.from(seed).buffer);
  }

  /** @param nonce 22 characters of base64url */
  read(nonce: string): this {
    this.bytes.write(nonce, 0, NONCE_BYTES, 'base64url');
    return this.#mix();
  }

  copy(from: Buffer, at: number): this {
    from.copy(this.bytes, 0, at, at + NONCE_BYTES);
    return this.#mix();
  }

  #mix(): this {
    let hash = 0;
    for (let at = 0; at < NONCE_BYTES; at++) hash ^= this.#tables[(at << 8) | this.bytes[at]!]!;
    this.hash = hash >>> 0;
    return this;
  }
}

/** A set of nonces: open addressing over flat arrays, about 30 bytes each, without garbage collection cost. */
export class NonceTable {
  #capacity = CAPACITY_MIN;
  #words = new Uint32Array(CAPACITY_MIN * WORDS);
  /** Hashes of occupied slots with the lowest bit set; 0 for free slots. */
  #hashes = new Uint32Array(CAPACITY_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has({ words, hash }: NonceHash): boolean {
    return this.#hashes[this.#slot(words, 0, hash)] !== 0;
  }

  /** Adds a nonce that is not in the table. */
  add({ words, hash }: NonceHash): void {
    if ((this.#size + 1) * 8 > this.#capacity * FULL_EIGHTHS) this.#grow();
    this.#put(words, 0, hash);
    this.#size += 1;
  }

  #put(words: Uint32Array, from: number, hash: number): void {
    const slot = this.#slot(words, from, hash);
    this.#hashes[slot] = hash | 1;
    for (let word = 0; word < WORDS; word++) this.#words[slot * WORDS + word] = words[from + word]!;
  }

  /** Returns the slot of the nonce, or the free slot for it. */
  #slot(words: Uint32Array, from: number, hash: number): number {
    const mask = this.#capacity - 1;
    const mark = (hash | 1) >>> 0;
    for (let slot = (hash >>> 1) & mask; ; slot = (slot + 1) & mask) {
      const taken = this.#hashes[slot]!;
      if (taken === 0 || (taken === mark && this.#holds(slot * WORDS, words, from))) return slot;
    }
  }

  #holds(at: number, words: Uint32Array, from: number): boolean {
    for (let word = 0; word < WORDS; word++) if (this.#words[at + word] !== words[from + word]) return false;
    return true;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const words = this.#words;
    this.#capacity *= 2;
    this.#hashes = new Uint32Array(this.#capacity);
    this.#words = new Uint32Array(this.#capacity * WORDS);
    for (let slot = 0; slot < hashes.length; slot++) {
      if (hashes[slot] !== 0) this.#put(words, slot * WORDS, hashes[slot]!);
    }
  }
}
