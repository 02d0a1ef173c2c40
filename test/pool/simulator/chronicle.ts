import { createHash } from 'node:crypto';

const TAIL = 60;

/** What happened in a run: its digest tells whether two runs were the same, its tail what led to a failure. */
export class Chronicle {
  readonly #start: number;
  readonly #now: () => number;
  readonly #hash = createHash('sha256');
  readonly #tail: string[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(now: () => number) {
    this.#start = now();
    this.#now = now;
  }

  note(what: string): void {
    const line = `${((this.#now() - this.#start) / 1_000).toFixed(3)} ${what}`;
    this.#hash.update(`${line}\n`);
    this.#tail.push(line);
    if (this.#tail.length > TAIL) this.#tail.shift();
  }

  get tail(): string {
    return this.#tail.join('\n');
  }

  /** What must never happen has happened: the run fails of it, also where nobody hears of the error. */
  violation(what: string): Error {
    const error = new Error(what);
    this.fail(error);
    return error;
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** @throws the first failure */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}
