/** Tells those who wait that the manager closes; cheaper than an AbortSignal for thousands of them. */
export class Closing {
  readonly #watchers = new Set<() => void>();
  #begun = false;

  /** From here on nothing more becomes durable. */
  get hasBegun(): boolean {
    return this.#begun;
  }

  begin(): void {
    this.#begun = true;
  }

  onClose(run: () => void): () => void {
    this.#watchers.add(run);
    return () => void this.#watchers.delete(run);
  }

  /** Lets go all who wait. */
  end(): void {
    for (const run of [...this.#watchers]) run();
  }
}
