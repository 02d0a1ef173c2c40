/** Claims that are remembered at most; what is forgotten is found out again. */
const REMEMBERED_MAX = 1_000;

/**
 * How many tasks a claim takes where the expressions of those before did not all fit into the budget of one: as many as
 * fitted, twice as many after each that did. So tasks are not claimed only to be put back.
 */
export class ClaimSizes {
  readonly #limits = new Map<string, number>();

  /** How many to claim of these lanes where `asked` are asked for. */
  limitOf(lanes: readonly number[], asked: number): number {
    return Math.min(asked, this.#limits.get(lanes.join()) ?? asked);
  }

  /** Takes note of a claim of `limit` tasks that got `claimed`, of which `deferred` were put back. */
  note(lanes: readonly number[], limit: number, claimed: number, deferred: number): void {
    const key = lanes.join();
    const known = this.#limits.get(key);
    if (deferred > 0) {
      if (known === undefined && this.#limits.size >= REMEMBERED_MAX) this.#limits.clear();
      this.#limits.set(key, Math.max(1, claimed - deferred));
    } else if (known !== undefined && claimed >= limit) {
      // One that is above what was asked for bounds nothing any more.
      if (known > limit) this.#limits.delete(key);
      else this.#limits.set(key, known * 2);
    }
  }
}
