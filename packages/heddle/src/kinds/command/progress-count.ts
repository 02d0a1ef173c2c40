/**
 * Stores how far a command is. One count is under way at a time; what is reached meanwhile is stored by the next one, so
 * that a command that reports without end neither fills memory nor delays the counts of others.
 */
export class ProgressCount {
  readonly #add: (more: number) => Promise<void>;
  #reached = 0;
  #stored = 0;
  #storing: Promise<void> | null = null;

  /** @param add adds to the counter of the task */
  constructor(add: (more: number) => Promise<void>) {
    this.#add = add;
  }

  /** The counter never goes back. */
  reach(done: number): void {
    if (done <= this.#reached) return;
    this.#reached = done;
    this.#storing ??= this.#storeAll().finally(() => (this.#storing = null));
  }

  /** Resolves when everything reached so far is stored, or could not be; never rejects. */
  async stored(): Promise<void> {
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    while (this.#stored < this.#reached) {
      const more = this.#reached - this.#stored;
      this.#stored = this.#reached;
      // A count that cannot be stored is logged by the worker.
      await this.#add(more).catch(() => undefined);
    }
  }
}
