/** Maximum number of claim sizes remembered; a forgotten one is learned again. */
const REMEMBERED_MAX = 1_000;

/**
 * Limits how many tasks a claim takes after the expressions of a claim exceeded its budget: the number that fitted,
 * doubled after each claim that fitted. This avoids claiming tasks only to put them back.
 */
export class ClaimSizes {
  readonly #limits = new Map<string, number>();

  /** Returns how many tasks to claim from these lanes if `asked` are requested. */
  limitOf(lanes: readonly number[], asked: number): number {
    return Math.min(asked, this.#limits.get(lanes.join()) ?? asked);
  }

  /** Records a claim of `limit` tasks that got `claimed`, of which `deferred` were put back. */
  note(lanes: readonly number[], limit: number, claimed: number, deferred: number): void {
    const key = lanes.join();
    const known = this.#limits.get(key);
    if (deferred > 0) {
      if (known === undefined && this.#limits.size >= REMEMBERED_MAX) this.#limits.clear();
      this.#limits.set(key, Math.max(1, claimed - deferred));
    } else if (known !== undefined && claimed >= limit) {
      // A limit above the requested number has no effect any more.
      if (known > limit) this.#limits.delete(key);
      else this.#limits.set(key, known * 2);
    }
  }
}
