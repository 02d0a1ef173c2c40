/** A seat for one process: while it is held, nobody else runs as its user. */
export interface Slot extends Disposable {
  readonly index: number;
  /** The user and group that the process runs as; null where this process may not choose. */
  readonly user: number | null;
}

/** Users that exist nowhere else, for all executors of a machine. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** So that 65,536 executors can differ; the last user is below 2^30. */
export const USERS: UserRange = { first: 700_000, count: 536_870_912 };
/** For each executor: each worker may have one that runs, one started ahead and one that ends, in each of two tiers. */
const USERS_EACH = 8_192;

/** Of all tiers of this process: no two of its tasks may ever be of one user. */
const taken = new Set<number>();

/** Hands out the lowest free seats. */
export class Slots {
  readonly #firstUser: number | null;
  readonly #count: number;
  readonly #taken = taken;

  constructor(users: UserRange) {
    this.#firstUser = firstSlotUser(users);
    this.#count = Math.min(users.count, USERS_EACH);
  }

  /** Whether processes run as users of their own. */
  get hasUsers(): boolean {
    return this.#firstUser !== null;
  }

  take(): Slot {
    let index = 0;
    while (this.#taken.has(index)) index += 1;
    if (index >= this.#count) throw new Error(`slots: more than ${this.#count} processes of tasks at once`);
    this.#taken.add(index);
    return {
      index,
      user: this.#firstUser === null ? null : this.#firstUser + index,
      [Symbol.dispose]: () => void this.#taken.delete(index),
    };
  }
}

/** The first of the users that this process may give its tasks; null where it is not root. */
export function firstSlotUser({ first, count }: UserRange = USERS): number | null {
  if (process.getuid?.() !== 0) return null;
  const executors = Math.max(1, Math.floor(count / USERS_EACH));
  return first + (process.pid % executors) * USERS_EACH;
}
