/** Refusals that are reported individually; the rest are counted. */
const REPORTED_MAX = 20;

/** Reports names that were not queried, with a limit on the number of notices. */
export class Refusals {
  readonly #onNotice: ((notice: string) => void) | undefined;
  count = 0;

  constructor(onNotice: ((notice: string) => void) | undefined) {
    this.#onNotice = onNotice;
  }

  add(name: string, reason: string): void {
    this.count += 1;
    // A name from a list may contain anything; a notice is one line.
    const shown = JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
    if (this.count <= REPORTED_MAX) this.#onNotice?.(`${shown} not queried: ${reason}`);
  }

  summarize(): void {
    if (this.count > REPORTED_MAX) this.#onNotice?.(`${this.count} names in total were not queried`);
  }
}
