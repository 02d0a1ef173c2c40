import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import type { PartStatus } from './pool-port.ts';

export interface PartOptions {
  /** What it does, as in `the pool could not NAME`. */
  readonly name: string;
  readonly intervalMs: number;
  /** What to do where it fails again and again. */
  readonly remedy: string;
  readonly clock: Clock;
  readonly log: Logger;
  runOnce(signal: AbortSignal): Promise<'again' | 'idle'>;
}

/** A part of the pool that runs by itself: one that fails is told of with its remedy, and keeps no other from running. */
export class Part {
  readonly loop: Loop;
  readonly #options: PartOptions;
  #succeededAt: number | null = null;
  #error: string | null = null;

  constructor(options: PartOptions) {
    this.#options = options;
    const { name, intervalMs, clock, log } = options;
    this.loop = new Loop({
      name: `pool ${name}`,
      intervalMs,
      clock,
      log,
      runOnce: (signal) => this.runOnce(signal),
    });
  }

  get status(): PartStatus {
    return { name: this.#options.name, succeeded_at: this.#succeededAt, error: this.#error };
  }

  /** @throws an error whose message says what to do, with what failed as its cause */
  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<'again' | 'idle'> {
    const { name, remedy, clock } = this.#options;
    try {
      const outcome = await this.#options.runOnce(signal);
      this.#succeededAt = clock.now();
      this.#error = null;
      return outcome;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#error = reason;
      throw new Error(`the pool could not ${name}: ${reason}; ${remedy}`, { cause: error });
    }
  }
}
