/** Resolution of deadlines. */
export const TICK_MS = 10;
/** A deadline beyond one revolution of the wheel goes around again. */
const BUCKETS = 1024;
const NONE = -1;

/**
 * Deadlines of a fixed number of slots without a timer or object for each: every slot is linked into the list of the
 * tick at which it is due. Setting and clearing take constant time.
 */
export class TimingWheel {
  readonly #heads = new Int32Array(BUCKETS).fill(NONE);
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #bucket: Int32Array;
  readonly #deadline: Float64Array;
  #lastTick: number;
  #size = 0;

  /** @param nowMs time of a monotonic clock */
  constructor(slots: number, nowMs: number) {
    this.#next = new Int32Array(slots).fill(NONE);
    this.#previous = new Int32Array(slots).fill(NONE);
    this.#bucket = new Int32Array(slots).fill(NONE);
    this.#deadline = new Float64Array(slots);
    this.#lastTick = Math.floor(nowMs / TICK_MS);
  }

  get size(): number {
    return this.#size;
  }

  set(slot: number, deadlineMs: number): void {
    this.clear(slot);
    const tick = Math.max(Math.ceil(deadlineMs / TICK_MS), this.#lastTick + 1);
    const bucket = tick % BUCKETS;
    const head = this.#heads[bucket]!;
    this.#deadline[slot] = deadlineMs;
    this.#bucket[slot] = bucket;
    this.#next[slot] = head;
    this.#previous[slot] = NONE;
    if (head !== NONE) this.#previous[head] = slot;
    this.#heads[bucket] = slot;
    this.#size += 1;
  }

  clear(slot: number): void {
    const bucket = this.#bucket[slot]!;
    if (bucket === NONE) return;
    const next = this.#next[slot]!;
    const previous = this.#previous[slot]!;
    if (previous === NONE) this.#heads[bucket] = next;
    else this.#next[previous] = next;
    if (next !== NONE) this.#previous[next] = previous;
    this.#bucket[slot] = NONE;
    this.#size -= 1;
  }

  /** Removes every slot that is due at `nowMs`, then reports each of them. */
  expire(nowMs: number, due: (slot: number) => void): void {
    const nowTick = Math.floor(nowMs / TICK_MS);
    const from = Math.max(this.#lastTick + 1, nowTick - BUCKETS + 1);
    this.#lastTick = Math.max(this.#lastTick, nowTick);
    // Collected first, since `due` may change the lists.
    const expired: number[] = [];
    for (let tick = from; tick <= nowTick && this.#size > 0; tick++) {
      let slot = this.#heads[tick % BUCKETS]!;
      while (slot !== NONE) {
        const next = this.#next[slot]!;
        if (this.#deadline[slot]! <= nowMs) {
          this.clear(slot);
          expired.push(slot);
        }
        slot = next;
      }
    }
    for (const slot of expired) due(slot);
  }
}
