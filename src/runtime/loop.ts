import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import { HeddleError } from '../domain/errors.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

export type LoopOutcome = 'again' | 'idle' | 'error';

export interface LoopOptions {
  name: string;
  /** How long an idle loop waits unless it is woken. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** One pass: `again` where more work waits already. The signal aborts when the loop is stopped. */
  runOnce(signal: AbortSignal): Promise<'again' | 'idle'>;
  onIteration?(durationMs: number, outcome: LoopOutcome): void;
}

const ERROR_BACKOFF_BASE_MS = 100;
const ERROR_BACKOFF_MAX_MS = 30_000;
/** For what passes by itself, such as a database that is away: its breaker refuses at once, so trying costs nothing. */
const PASSING_BACKOFF_MAX_MS = 1_000;
/** One for all: a reason that is made at each abort, with its stack, costs more than the wait itself. */
const WOKEN = new Error('woken');

/**
 * The shape of every background service: runs at once when started or woken, again at once after `again`, else after
 * the interval. A failed pass is logged and backs off, doubling from 100 ms up to 30 s, or up to 1 s where the error
 * passes by itself (then only the first is logged); wakes do not shorten that wait, so that a flood of notifications
 * cannot hammer a database that is down.
 */
export class Loop {
  readonly #options: LoopOptions;
  #stopping: AbortController | undefined;
  #ended: Promise<void> = Promise.resolve();
  #woken = false;
  #endWait: (() => void) | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Starts the loop; nothing happens where it runs already. A stopped loop may be started again. */
  start(): void {
    if (this.#stopping !== undefined && !this.#stopping.signal.aborted) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    // A pass of the time before a stop may still be under way, and two at once must never be.
    this.#ended = this.#ended.then(() => this.#run(stopping.signal));
  }

  /** Makes an idle loop run now, and one whose pass is under way run once more right after it. */
  wake(): void {
    this.#woken = true;
    this.#endWait?.();
  }

  /** Aborts the signal of the pass under way and resolves when that pass has ended. */
  stop(): Promise<void> {
    this.#stopping?.abort(new Error(`the loop ${this.name} is stopping`));
    return this.#ended;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      this.#woken = false;
      const { outcome, backoffMaxMs } = await this.#pass(signal, failures);
      failures = outcome === 'error' ? failures + 1 : 0;
      if (hasAborted(signal)) return;
      // A turn of the event loop: a busy loop must leave room for timers, requests and its own stop.
      if (outcome === 'again') await eventLoopTurn();
      else if (outcome === 'error') await this.#options.clock.sleep(errorBackoffMs(failures, backoffMaxMs), signal);
      else await this.#waitForWake(signal);
    }
  }

  async #pass(signal: AbortSignal, failures: number): Promise<{ outcome: LoopOutcome; backoffMaxMs: number }> {
    const { clock, log, name } = this.#options;
    const startedAt = clock.monotonic();
    let outcome: LoopOutcome;
    let backoffMaxMs = ERROR_BACKOFF_MAX_MS;
    try {
      outcome = await this.#options.runOnce(signal);
    } catch (error) {
      outcome = 'error';
      const isPassing = error instanceof HeddleError && error.retryable;
      if (isPassing) backoffMaxMs = PASSING_BACKOFF_MAX_MS;
      // An error that the stop itself caused is no news.
      if (!signal.aborted) {
        const level = isPassing && failures > 0 ? 'debug' : 'error';
        log[level]({ loop: name, err: error, failures: failures + 1 }, `a pass of the loop ${name} failed`);
      }
    }
    this.#options.onIteration?.(clock.monotonic() - startedAt, outcome);
    return { outcome, backoffMaxMs };
  }

  async #waitForWake(signal: AbortSignal): Promise<void> {
    if (this.#woken) return;
    const wait = new AbortController();
    const endWait = (): void => wait.abort(WOKEN);
    this.#endWait = endWait;
    signal.addEventListener('abort', endWait, { once: true });
    try {
      await this.#options.clock.sleep(this.#options.intervalMs, wait.signal);
    } finally {
      signal.removeEventListener('abort', endWait);
      this.#endWait = undefined;
    }
  }
}

/** Asked through a function because the compiler holds the loop's own condition for settled. */
function hasAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function errorBackoffMs(failures: number, maxMs: number): number {
  return Math.min(ERROR_BACKOFF_BASE_MS * 2 ** (failures - 1), maxMs);
}
