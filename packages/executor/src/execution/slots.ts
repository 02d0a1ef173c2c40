/** A slot for one process, with exclusive use of its user while held. */
export interface Slot extends Disposable {
  readonly index: number;
  /** User and group of the process; null if this process cannot choose one. */
  readonly user: number | null;
}

/** User ids reserved for the executors of a machine. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** Large enough for 65,536 executors; the last user id is below 2^30. */
export const USERS: UserRange = { first: 700_000, count: 536_870_912 };
/** Slots per executor: one running, one spare and one ending process per worker, in each of two tiers. */
const USERS_EACH = 8_192;

/** Shared by all tiers of this process, because no two tasks may run as the same user. */
const taken = new Set<number>();

/** Assigns the lowest free slots. */
export class Slots {
  readonly #firstUser: number | null;
  readonly #count: number;
  readonly #taken = taken;

  constructor(users: UserRange) {
    this.#firstUser = firstSlotUser(users);
    this.#count = Math.min(users.count, USERS_EACH);
  }

  /** Whether processes run as separate users. */
  get hasUsers(): boolean {
    return this.#firstUser !== null;
  }

  take(): Slot {
    let index = 0;
    while (this.#taken.has(index)) index += 1;
    if (index >= this.#count) throw new Error(`slots: more than ${this.#count} concurrent task processes`);
    this.#taken.add(index);
    return {
      index,
      user: this.#firstUser === null ? null : this.#firstUser + index,
      [Symbol.dispose]: () => void this.#taken.delete(index),
    };
  }
}

/** Returns the first user id for tasks of this process; null if it is not root. */
export function firstSlotUser({ first, count }: UserRange = USERS): number | null {
  if (process.getuid?.() !== 0) return null;
  const executors = Math.max(1, Math.floor(count / USERS_EACH));
  return first + (process.pid % executors) * USERS_EACH;
}
