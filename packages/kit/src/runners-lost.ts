import type { KindRunner } from './context.ts';

/** Reason of `runnerLost`: other runners of the task have ended, and it continues without them. */
export class RunnersLost extends Error {
  readonly #runners: KindRunner[];

  constructor(runners: readonly KindRunner[]) {
    super(`lost ${runners.map(({ number }) => `runner ${number}`).join(', ')}`);
    this.name = 'RunnersLost';
    this.#runners = [...runners];
  }

  /** All runners lost so far. */
  get runners(): readonly KindRunner[] {
    return this.#runners;
  }

  /** Adds runners lost since. */
  add(runners: readonly KindRunner[]): void {
    this.#runners.push(...runners);
  }
}
