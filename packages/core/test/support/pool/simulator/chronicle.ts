import { createHash } from 'node:crypto';

const TAIL = 60;

/** The events of a run: the digest shows whether two runs were equal, the tail what led to a failure. */
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

  /** Records a violation, which fails the run even if no caller handles the error. */
  violation(what: string): Error {
    const error = new Error(what);
    this.fail(error);
    return error;
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** @throws the first violation */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  digest(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }
}
