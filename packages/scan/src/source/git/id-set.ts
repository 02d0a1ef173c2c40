/** Initial number of slots; always a power of two. */
const SLOTS_FIRST = 4096;
/** Maximum load, in tenths. */
const FILL_TENTHS_MAX = 7;

/** A set of object ids as bytes in one array, 20 or 32 bytes per id, since histories have many millions. */
export class IdSet {
  readonly #width: number;
  #slots = SLOTS_FIRST;
  #bytes: Uint8Array;
  #size = 0;
  /** The all-zero id marks a free slot; no object has it. */
  readonly #candidate: Uint8Array;

  /** @param width bytes per id: 20 for SHA-1, 32 for SHA-256 */
  constructor(width: number) {
    this.#width = width;
    this.#bytes = new Uint8Array(SLOTS_FIRST * width);
    this.#candidate = new Uint8Array(width);
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds the id that `text` contains in hexadecimal digits at `start`.
   *
   * @returns false if it is already present, or all zeros
   */
  addHex(text: Uint8Array, start: number): boolean {
    const id = this.#candidate;
    let all = 0;
    for (let index = 0; index < this.#width; index += 1) {
      const byte = (digitOf(text[start + 2 * index]!) << 4) | digitOf(text[start + 2 * index + 1]!);
      id[index] = byte;
      all |= byte;
    }
    if (all === 0) return false;
    if (this.#size * 10 >= this.#slots * FILL_TENTHS_MAX) this.#grow();
    const slot = this.#find(this.#bytes, this.#slots, id, 0);
    if (slot === -1) return false;
    this.#bytes.set(id, slot);
    this.#size += 1;
    return true;
  }

  /** Returns the offset of the free slot for an id, or -1 if the id is present. */
  #find(bytes: Uint8Array, slots: number, ids: Uint8Array, from: number): number {
    const hash = ((ids[from]! << 24) | (ids[from + 1]! << 16) | (ids[from + 2]! << 8) | ids[from + 3]!) >>> 0;
    for (let slot = hash & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      const at = slot * this.#width;
      let used = 0;
      let same = true;
      for (let index = 0; index < this.#width; index += 1) {
        used |= bytes[at + index]!;
        if (bytes[at + index] !== ids[from + index]) same = false;
        if (used !== 0 && !same) break;
      }
      if (same) return -1;
      if (used === 0) return at;
    }
  }

  #grow(): void {
    const slots = this.#slots * 2;
    const bytes = new Uint8Array(slots * this.#width);
    for (let at = 0; at < this.#bytes.length; at += this.#width) {
      const isFree = this.#bytes.subarray(at, at + this.#width).every((byte) => byte === 0);
      if (!isFree) bytes.set(this.#bytes.subarray(at, at + this.#width), this.#find(bytes, slots, this.#bytes, at));
    }
    this.#bytes = bytes;
    this.#slots = slots;
  }
}

function digitOf(character: number): number {
  return character <= 57 ? character - 48 : character - 87;
}
