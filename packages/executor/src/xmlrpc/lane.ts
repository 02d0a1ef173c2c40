/** Limits concurrency; callers wait in order of arrival. */
export class Lane {
  readonly #width: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /**
   * Runs `enter` now or once a slot is free; each admitted caller must leave once. Returns a function that stops
   * waiting.
   */
  enter(enter: () => void): () => void {
    if (this.#taken < this.#width) {
      this.#taken += 1;
      enter();
      return () => undefined;
    }
    this.#waiting.add(enter);
    return () => void this.#waiting.delete(enter);
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
