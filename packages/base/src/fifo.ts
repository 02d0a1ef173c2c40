/** A FIFO queue that does not move its elements: a ring that doubles when it is full. */
export class Fifo<T> {
  #items: (T | undefined)[] = new Array<T | undefined>(16).fill(undefined);
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#length) & (this.#items.length - 1)] = item;
    this.#length += 1;
  }

  /** Returns the item that is shifted next. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#length -= 1;
    return item;
  }

  #grow(): void {
    const size = this.#items.length;
    const items = new Array<T | undefined>(size * 2).fill(undefined);
    for (let i = 0; i < size; i++) items[i] = this.#items[(this.#head + i) & (size - 1)];
    this.#items = items;
    this.#head = 0;
  }
}
