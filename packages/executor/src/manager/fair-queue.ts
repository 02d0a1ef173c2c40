interface Node<T> {
  readonly item: T;
  readonly lane: Lane<T>;
  previous: Node<T> | null;
  next: Node<T> | null;
}

/** First-come, first-served queue of one owner. */
class Lane<T> {
  readonly owner: string;
  head: Node<T> | null = null;
  tail: Node<T> | null = null;
  size = 0;
  /** Neighbors in the ring of owners. */
  before: Lane<T> = this;
  after: Lane<T> = this;

  constructor(owner: string) {
    this.owner = owner;
  }
}

/**
 * Queue that alternates between owners, one item each, and keeps the order within an owner: an owner with a thousand
 * items delays others by one at most. Every operation takes constant time.
 */
export class FairQueue<T> {
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #nodes = new Map<T, Node<T>>();
  /** The lane to serve next. */
  #turn: Lane<T> | null = null;

  get size(): number {
    return this.#nodes.size;
  }

  sizeOf(owner: string): number {
    return this.#lanes.get(owner)?.size ?? 0;
  }

  /** Number of owners with queued items. */
  get owners(): number {
    return this.#lanes.size;
  }

  push(owner: string, item: T): void {
    const lane = this.#lanes.get(owner) ?? this.#addLane(owner);
    const node: Node<T> = { item, lane, previous: lane.tail, next: null };
    if (lane.tail === null) lane.head = node;
    else lane.tail.next = node;
    lane.tail = node;
    lane.size += 1;
    this.#nodes.set(item, node);
  }

  shift(): T | undefined {
    const lane = this.#turn;
    if (lane === null || lane.head === null) return undefined;
    const { item } = lane.head;
    // Before the removal, which may take the lane out of the ring.
    this.#turn = lane.after;
    this.delete(item);
    return item;
  }

  /** Removes an item. Returns whether it was queued. */
  delete(item: T): boolean {
    const node = this.#nodes.get(item);
    if (node === undefined) return false;
    const { lane, previous, next } = node;
    if (previous === null) lane.head = next;
    else previous.next = next;
    if (next === null) lane.tail = previous;
    else next.previous = previous;
    lane.size -= 1;
    this.#nodes.delete(item);
    if (lane.size === 0) this.#removeLane(lane);
    return true;
  }

  /** Iterates over all items in no particular order. */
  items(): IterableIterator<T> {
    return this.#nodes.keys();
  }

  /** Adds a lane at the end of the current round. */
  #addLane(owner: string): Lane<T> {
    const lane = new Lane<T>(owner);
    this.#lanes.set(owner, lane);
    if (this.#turn === null) this.#turn = lane;
    else {
      lane.after = this.#turn;
      lane.before = this.#turn.before;
      lane.before.after = lane;
      lane.after.before = lane;
    }
    return lane;
  }

  #removeLane(lane: Lane<T>): void {
    this.#lanes.delete(lane.owner);
    if (this.#turn === lane) this.#turn = lane.after === lane ? null : lane.after;
    lane.before.after = lane.after;
    lane.after.before = lane.before;
  }
}
