import { abortErrorOf } from './thrown.ts';

/** Slots of a bounded budget, held until released. Works with `using`. */
export interface Permit extends Disposable {
  /** Returns the slots. A second release throws, since it is a programming error. */
  release(): void;
}

interface Waiter {
  grant(permit: Permit): void;
}

/** A bounded budget of slots: `tryAcquire` never waits, `acquire` waits in order of arrival. */
export class Permits {
  readonly total: number;
  #free: number;
  readonly #waiters = new Set<Waiter>();

  constructor(total: number) {
    if (!Number.isSafeInteger(total) || total < 1)
      throw new RangeError(`permits: total must be at least 1, not ${total}`);
    this.total = total;
    this.#free = total;
  }

  get free(): number {
    return this.#free;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /**
   * Returns a permit for `n` slots, or null if fewer are free. Never overtakes a waiter: while one waits, none is free.
   */
  tryAcquire(n = 1): Permit | null {
    if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`permits: n must be at least 1, not ${n}`);
    if (n > this.#free) return null;
    return this.#take(n);
  }

  /** Waits for one slot in order of arrival. Rejects with the signal's reason if that aborts first. */
  acquire(signal?: AbortSignal): Promise<Permit> {
    if (signal?.aborted === true) return Promise.reject(abortErrorOf(signal));
    if (this.#free > 0) return Promise.resolve(this.#take(1));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(abortErrorOf(signal!));
      };
      const waiter: Waiter = {
        grant: (permit) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(permit);
        },
      };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #take(n: number): Permit {
    this.#free -= n;
    let held = true;
    const release = (): void => {
      if (!held) throw new Error('permits: this permit was released already');
      held = false;
      this.#giveBack(n);
    };
    return { release, [Symbol.dispose]: release };
  }

  #giveBack(n: number): void {
    this.#free += n;
    for (const waiter of this.#waiters) {
      if (this.#free === 0) return;
      this.#waiters.delete(waiter);
      waiter.grant(this.#take(1));
    }
  }
}
