/** Distinct items in an order of their own. Adding and removing shift what stands behind, so what changes belongs last. */
export class SortedList<Item> {
  readonly #compare: (one: Item, other: Item) => number;
  readonly #items: Item[] = [];

  /** @param compare a total order; of an item that stands in the list it must not change */
  constructor(compare: (one: Item, other: Item) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  /** In order. */
  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    const at = this.#placeOf(item);
    if (at === this.#items.length) this.#items.push(item);
    else if (this.#compare(this.#items[at]!, item) !== 0) this.#items.splice(at, 0, item);
  }

  /** False where it is not there. */
  delete(item: Item): boolean {
    const at = this.#placeOf(item);
    if (at === this.#items.length || this.#items[at] !== item) return false;
    this.#items.splice(at, 1);
    return true;
  }

  /** Where the first item stands that is not before this one. */
  #placeOf(item: Item): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#items[middle]!, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
