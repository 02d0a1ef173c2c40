import { setImmediate as eventLoopTurn } from 'node:timers/promises';

import { HeddleError } from './errors.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

export type LoopOutcome = 'again' | 'idle' | 'error';

export interface LoopOptions {
  name: string;
  /** How long an idle loop waits unless it is woken. */
  intervalMs: number;
  clock: Clock;
  log: Logger;
  /** Runs one pass: `again` if more work waits. The signal aborts when the loop is stopped. */
  runOnce(signal: AbortSignal): Promise<'again' | 'idle'>;
  onIteration?(durationMs: number, outcome: LoopOutcome): void;
}

const ERROR_BACKOFF_BASE_MS = 100;
const ERROR_BACKOFF_MAX_MS = 30_000;
/** Backoff for transient errors, such as an unavailable database: its breaker rejects at once, so retrying is cheap. */
const PASSING_BACKOFF_MAX_MS = 1_000;
/** Shared instance: creating an error with its stack at each abort costs more than the wait itself. */
const WOKEN = new Error('woken');

/**
 * Runs a background service: at once when started or woken, at once after `again`, else after the interval. A failed
 * pass is logged and backs off, doubling from 100 ms up to 30 s, or up to 1 s if the error is transient (then only the
 * first is logged); wakes do not shorten that wait, so that a flood of notifications cannot overload a database that is
 * down.
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

  /** Starts the loop; no effect if it is running. A stopped loop may be started again. */
  start(): void {
    if (this.#stopping !== undefined && !this.#stopping.signal.aborted) return;
    const stopping = new AbortController();
    this.#stopping = stopping;
    // A pass from before a stop may still be running, and two must never run at once.
    this.#ended = this.#ended.then(() => this.#run(stopping.signal));
  }

  /** Runs an idle loop now, and a busy one once more right after its pass. */
  wake(): void {
    this.#woken = true;
    this.#endWait?.();
  }

  /** Aborts the signal of the current pass and resolves when it has ended. */
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
      // Yields to the event loop, so that a busy loop does not starve timers, requests and its own stop.
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
      // An error caused by the stop itself is not logged.
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

/** A function, because the compiler would narrow the loop's own condition. */
function hasAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function errorBackoffMs(failures: number, maxMs: number): number {
  return Math.min(ERROR_BACKOFF_BASE_MS * 2 ** (failures - 1), maxMs);
}
