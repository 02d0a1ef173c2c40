/** Lets so many through at once; the others wait in the order in which they came. */
export class Lane {
  readonly #width: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /** Runs `enter` now or when there is room; whoever was let in leaves once. Returns how to wait no longer. */
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
