const AVAILABLE = 0;
const PEAK = 1;
const WAITERS = 2;
const CAPACITY = 3;
/** From here on: the permits that each owner (thread) holds. */
const HELD = 4;

/**
 * A bounded number of permits in shared memory, exact across threads. Every permit is charged to one owner, so that
 * those of a dead thread can be reclaimed.
 */
export class CountBudget {
  readonly memory: SharedArrayBuffer;
  readonly #owner: number;
  readonly #words: Int32Array<SharedArrayBuffer>;

  private constructor(memory: SharedArrayBuffer, owner: number) {
    this.memory = memory;
    this.#owner = owner;
    this.#words = new Int32Array(memory);
    if (!(owner >= 0 && HELD + owner < this.#words.length)) throw new RangeError(`budget: no owner ${owner}`);
  }

  /** @param owners number of accounts; the creator uses the first, 0 */
  static create(capacity: number, owners = 1): CountBudget {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > 2 ** 30)
      throw new RangeError(`budget: the capacity must be between 1 and 2^30, not ${capacity}`);
    const budget = new CountBudget(new SharedArrayBuffer((HELD + owners) * 4), 0);
    budget.#words[AVAILABLE] = capacity;
    budget.#words[CAPACITY] = capacity;
    return budget;
  }

  /** Returns the same budget for another owner; works from another thread. */
  static attach(memory: SharedArrayBuffer, owner: number): CountBudget {
    return new CountBudget(memory, owner);
  }

  get capacity(): number {
    return this.#words[CAPACITY]!;
  }

  get available(): number {
    return Atomics.load(this.#words, AVAILABLE);
  }

  get inUse(): number {
    return this.capacity - this.available;
  }

  /** The maximum number of permits in use at the same time. */
  get peak(): number {
    return Atomics.load(this.#words, PEAK);
  }

  held(owner = this.#owner): number {
    return Atomics.load(this.#words, HELD + owner);
  }

  /** Takes a permit if more than `reserve` are free; returns at once otherwise. */
  tryAcquire(reserve = 0): boolean {
    const words = this.#words;
    let available = Atomics.load(words, AVAILABLE);
    for (;;) {
      if (available <= reserve) return false;
      const seen = Atomics.compareExchange(words, AVAILABLE, available, available - 1);
      if (seen === available) break;
      available = seen;
    }
    Atomics.add(words, HELD + this.#owner, 1);
    this.#raisePeak(words[CAPACITY]! - available + 1);
    return true;
  }

  /**
   * Takes a permit as soon as more than `reserve` are free. Only for producers outside the executors: a step must
   * never wait. Rejects with the signal's reason if that aborts first.
   */
  async acquire(reserve = 0, signal?: AbortSignal): Promise<void> {
    while (!this.tryAcquire(reserve)) await this.whenAvailable(reserve, signal);
  }

  /** Resolves once more than `reserve` permits are free, without taking one. Rejects if the signal aborts. */
  async whenAvailable(reserve = 0, signal?: AbortSignal): Promise<void> {
    const wakeAll = (): void => void Atomics.notify(this.#words, AVAILABLE);
    signal?.addEventListener('abort', wakeAll, { once: true });
    Atomics.add(this.#words, WAITERS, 1);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const available = this.available;
        if (available > reserve) return;
        const wait = Atomics.waitAsync(this.#words, AVAILABLE, available);
        if (wait.async) await wait.value;
      }
    } finally {
      Atomics.sub(this.#words, WAITERS, 1);
      signal?.removeEventListener('abort', wakeAll);
    }
  }

  /** Releases one permit of this owner. Throws if the owner holds none, which is a programming error. */
  release(): void {
    if (Atomics.sub(this.#words, HELD + this.#owner, 1) <= 0) {
      Atomics.add(this.#words, HELD + this.#owner, 1);
      throw new Error('budget: released a permit that is not held');
    }
    this.#giveBack(1);
  }

  /** Transfers permits in use to another owner, along with their objects. */
  move(from: number, to: number, count: number): void {
    if (Atomics.sub(this.#words, HELD + from, count) < count) {
      Atomics.add(this.#words, HELD + from, count);
      throw new Error(`budget: owner ${from} does not hold ${count} permits`);
    }
    Atomics.add(this.#words, HELD + to, count);
  }

  /** Reclaims all permits of a dead owner; returns how many there were. */
  reclaim(owner: number): number {
    const held = Atomics.exchange(this.#words, HELD + owner, 0);
    if (held > 0) this.#giveBack(held);
    return held;
  }

  #giveBack(count: number): void {
    Atomics.add(this.#words, AVAILABLE, count);
    if (Atomics.load(this.#words, WAITERS) > 0) Atomics.notify(this.#words, AVAILABLE);
  }

  #raisePeak(inUse: number): void {
    let peak = Atomics.load(this.#words, PEAK);
    while (inUse > peak) {
      const seen = Atomics.compareExchange(this.#words, PEAK, peak, inUse);
      if (seen === peak) return;
      peak = seen;
    }
  }
}
