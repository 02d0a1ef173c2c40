import type { JsonValue } from '@heddle/base/json';

/** Maximum JSON size of a result's items in bytes, which leaves space for the rest of the result. */
export const ITEMS_BYTES_MAX = 1024 * 1024 - 4096;

/** Collects items up to a number and a size, and counts the others. */
export class ItemCollector {
  readonly items: JsonValue[] = [];
  /** All requested items, including those that did not fit. */
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

  get omitted(): number {
    return this.matched - this.items.length;
  }
}
