import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import { messageOf } from '@heddle/base/thrown';
import type { PartStatus } from './pool-port.ts';

export interface PartOptions {
  /** A verb phrase that completes `the pool could not NAME`. */
  readonly name: string;
  readonly intervalMs: number;
  /** What the operator should do if it keeps failing. */
  readonly remedy: string;
  readonly clock: Clock;
  readonly log: Logger;
  runOnce(signal: AbortSignal): Promise<'again' | 'idle'>;
}

/** An independent loop of the pool. A failure is logged with its remedy and does not affect other parts. */
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

  /** @throws Error with the remedy in its message and the original error as its cause */
  async runOnce(signal: AbortSignal = new AbortController().signal): Promise<'again' | 'idle'> {
    const { name, remedy, clock } = this.#options;
    try {
      const outcome = await this.#options.runOnce(signal);
      this.#succeededAt = clock.now();
      this.#error = null;
      return outcome;
    } catch (error) {
      const reason = messageOf(error);
      this.#error = reason;
      throw new Error(`the pool could not ${name}: ${reason}; ${remedy}`, { cause: error });
    }
  }
}
