/** A seat for one process: while it is held, nobody else runs as its user. */
export interface Slot extends Disposable {
  readonly index: number;
  /** The user and group that the process runs as; null where this process may not choose. */
  readonly user: number | null;
}

/**
 * Users that exist nowhere else, so many for each executor of a machine: each worker may have one that runs, one started
 * ahead and one that ends, in each of two tiers.
 */
const USERS_START = 700_000;
const USERS_EACH = 8_192;
/** Executors whose users differ; the last user is below 2^30. */
const EXECUTORS = 65_536;

/** Of all tiers of this process: no two of its tasks may ever be of one user. */
const taken = new Set<number>();

/** Hands out the lowest free seats. */
export class Slots {
  readonly #firstUser: number | null;
  readonly #taken = taken;

  /** @param firstUser null where processes run as the user of this one */
  constructor(firstUser: number | null) {
    this.#firstUser = firstUser;
  }

  /** Whether processes run as users of their own. */
  get hasUsers(): boolean {
    return this.#firstUser !== null;
  }

  take(): Slot {
    let index = 0;
    while (this.#taken.has(index)) index += 1;
    if (index >= USERS_EACH) throw new Error(`slots: more than ${USERS_EACH} processes of tasks at once`);
    this.#taken.add(index);
    return {
      index,
      user: this.#firstUser === null ? null : this.#firstUser + index,
      [Symbol.dispose]: () => void this.#taken.delete(index),
    };
  }
}

/** The first of the users that this process may give its tasks; null where it is not root. */
export function firstSlotUser(): number | null {
  if (process.getuid?.() !== 0) return null;
  return USERS_START + (process.pid % EXECUTORS) * USERS_EACH;
}
