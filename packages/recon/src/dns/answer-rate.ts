import type { Pace } from '../targets/port.ts';
import type { Resolver } from './resolver.ts';

/** Counts queries to resolvers that answer, and their answers, for the pace. */
export class AnswerRate {
  readonly #pace: Pace;
  #sent = 0;
  #answered = 0;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** @param late the query was counted as sent when it timed out */
  noteAnswer(resolver: Resolver, late: boolean): void {
    if (!resolver.alive) return;
    if (!late) this.#sent += 1;
    this.#answered += 1;
  }

  noteTimeout(resolver: Resolver): void {
    if (resolver.alive) this.#sent += 1;
  }

  /** Passes the counts since the last call on. */
  report(): void {
    if (this.#sent + this.#answered > 0) this.#pace.observe(this.#sent, this.#answered);
    this.#sent = 0;
    this.#answered = 0;
  }
}
