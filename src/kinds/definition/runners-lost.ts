import type { KindRunner } from './context.ts';

/** Why `runnerLost` aborts: other runners of the task have ended, and it goes on without them. */
export class RunnersLost extends Error {
  readonly #runners: KindRunner[];

  constructor(runners: readonly KindRunner[]) {
    super(`lost ${runners.map(({ number }) => `runner ${number}`).join(', ')}`);
    this.name = 'RunnersLost';
    this.#runners = [...runners];
  }

  /** All that were lost so far. */
  get runners(): readonly KindRunner[] {
    return this.#runners;
  }

  /** Notes those that were lost since. */
  add(runners: readonly KindRunner[]): void {
    this.#runners.push(...runners);
  }
}
