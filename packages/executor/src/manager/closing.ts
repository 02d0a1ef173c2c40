/** Notifies waiters that the manager is closing; cheaper than an AbortSignal for thousands of them. */
export class Closing {
  readonly #watchers = new Set<() => void>();
  #begun = false;

  /** Whether closing has begun, after which nothing becomes durable. */
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

  /** Runs all callbacks. */
  end(): void {
    for (const run of [...this.#watchers]) run();
  }
}
