/** Refusals that are told one by one; of the rest only the number. */
const TOLD_MAX = 20;

/** Names that were not asked for, told without drowning whoever listens. */
export class Refusals {
  readonly #onNotice: ((notice: string) => void) | undefined;
  count = 0;

  constructor(onNotice: ((notice: string) => void) | undefined) {
    this.#onNotice = onNotice;
  }

  add(name: string, reason: string): void {
    this.count += 1;
    // A name from a list may be anything; a notice is one line.
    const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
    if (this.count <= TOLD_MAX) this.#onNotice?.(`${shown} is not asked for: ${reason}`);
  }

  summarize(): void {
    if (this.count > TOLD_MAX) this.#onNotice?.(`${this.count} names in all were not asked for`);
  }
}
