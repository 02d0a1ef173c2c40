import type { JsonValue } from '../../domain/json.ts';

/** What the items of a result may come to as JSON, bytes: the rest of the result fits beside them. */
export const ITEMS_BYTES_MAX = 1024 * 1024 - 4096;

/** Items up to a number and a size; of the others only how many there were. */
export class Gathered {
  readonly items: JsonValue[] = [];
  /** Items that were wanted, those that did not fit among them. */
  matched = 0;
  readonly #limit: number;
  #bytes = 2;
  #full = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(item: JsonValue): void {
    this.matched += 1;
    if (this.#full) return;
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1;
    this.#full = this.items.length >= this.#limit || this.#bytes + bytes > ITEMS_BYTES_MAX;
    if (this.#full) return;
    this.#bytes += bytes;
    this.items.push(item);
  }

  get leftOut(): number {
    return this.matched - this.items.length;
  }
}
