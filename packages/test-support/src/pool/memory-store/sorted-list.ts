/** A sorted list of distinct items. Changes shift the following items, so they are cheapest near the end. */
export class SortedList<Item> {
  readonly #compare: (one: Item, other: Item) => number;
  readonly #items: Item[] = [];

  /** @param compare a total order, which must not change for items in the list */
  constructor(compare: (one: Item, other: Item) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  /** Items in order. */
  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    const at = this.#placeOf(item);
    if (at === this.#items.length) this.#items.push(item);
    else if (this.#compare(this.#items[at]!, item) !== 0) this.#items.splice(at, 0, item);
  }

  /** Returns false if the item is not in the list. */
  delete(item: Item): boolean {
    const at = this.#placeOf(item);
    if (at === this.#items.length || this.#items[at] !== item) return false;
    this.#items.splice(at, 1);
    return true;
  }

  /** Returns the index of the first item that is not before this one. */
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
