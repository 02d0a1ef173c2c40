interface Node<T> {
  readonly item: T;
  readonly lane: Lane<T>;
  previous: Node<T> | null;
  next: Node<T> | null;
}

/** What waits of one owner, first come first served. */
class Lane<T> {
  readonly owner: string;
  head: Node<T> | null = null;
  tail: Node<T> | null = null;
  size = 0;
  /** Its neighbors in the ring of owners. */
  before: Lane<T> = this;
  after: Lane<T> = this;

  constructor(owner: string) {
    this.owner = owner;
  }
}

/**
 * A queue that serves owners in turn, one item each, and the items of one owner in order: who brings a thousand delays
 * nobody else by more than one. Each operation takes constant time.
 */
export class FairQueue<T> {
  readonly #lanes = new Map<string, Lane<T>>();
  readonly #nodes = new Map<T, Node<T>>();
  /** Whose turn it is. */
  #turn: Lane<T> | null = null;

  get size(): number {
    return this.#nodes.size;
  }

  sizeOf(owner: string): number {
    return this.#lanes.get(owner)?.size ?? 0;
  }

  /** Owners of whom something waits. */
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

  /** Whether it was there. */
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

  /** All that waits, in no order. */
  items(): IterableIterator<T> {
    return this.#nodes.keys();
  }

  /** A new owner comes last in the round that is under way. */
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
