import { setImmediate as afterInput } from 'node:timers';

export { setImmediate as eventLoopTurn } from 'node:timers/promises';

/** Runs `run` on the next turn of the event loop, after pending events. Keeps the process alive. */
export function onNextTurn(run: () => void): void {
  afterInput(run);
}

/**
 * Hands out turns of the event loop in order of request, one piece of work per turn: however many run concurrently, a
 * turn holds one slice of one of them.
 */
export class SharedTurns {
  readonly #waiting: (() => void)[] = [];
  readonly #later: (run: () => void) => void;

  constructor(later: (run: () => void) => void = onNextTurn) {
    this.#later = later;
  }

  /** Resolves on a turn that no other caller was given. */
  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#waiting.push(() => resolve(undefined));
    if (this.#waiting.length === 1) this.#later(() => this.#give());
    return promise;
  }

  #give(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#later(() => this.#give());
  }
}
