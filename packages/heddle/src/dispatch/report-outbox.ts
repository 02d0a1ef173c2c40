import { HeddleError } from '@heddle/base/errors';
import type { Clock } from '@heddle/base/clock';
import { finishesWithin } from '@heddle/base/finishes-within';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import { retrying } from '@heddle/base/retry';
import { messageOf } from '@heddle/base/thrown';
import type { ClaimAlong, Engine, Report } from '@heddle/core/engine/port';
import { storable } from './kind/completion.ts';

export interface ReportOutboxOptions {
  engine: Pick<Engine, 'report' | 'reportAndClaim'>;
  /** Maximum size of one call. */
  maxSet: number;
  /** Maximum concurrent calls. */
  maxUnderWay: number;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Called when there is capacity again. */
  onRoom(): void;
  /** Claim to send along with a set of reports, decided when it is sent; null for none. */
  claimAlong(): ClaimAlong | null;
}

const BACKOFF = { base_ms: 100, factor: 2, max_ms: 5000, jitter: 0.5 };

/**
 * Sends reports to the engine in sets: reports that arrive while calls are running form the next one. Needs no promise
 * and no timer per report. A failed set is retried until the outbox is closed; one bad report does not fail the others.
 */
export class ReportOutbox {
  readonly #options: ReportOutboxOptions;
  #waiting: Report[] = [];
  #sending = 0;
  #scheduled = false;
  #whenEmpty: (() => void)[] = [];
  readonly #abandon = new AbortController();

  constructor(options: ReportOutboxOptions) {
    this.#options = options;
  }

  /** Reports that no call has taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  push(report: Report): void {
    this.#waiting.push(report);
    if (this.#scheduled || this.#sending >= this.#options.maxUnderWay) return;
    this.#scheduled = true;
    // Reports of the same tick belong to the same set.
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#sendWaiting();
    });
  }

  /** Resolves when every report was accepted, or abandons the rest after `ms`; returns how many were lost. */
  async close(ms: number): Promise<number> {
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty.push(resolve);
      this.#noteEmpty();
    });
    if (await finishesWithin(this.#options.clock, ms, empty)) return 0;
    this.#abandon.abort();
    return this.#waiting.length;
  }

  #sendWaiting(): void {
    const { maxSet, maxUnderWay } = this.#options;
    while (this.#waiting.length > 0 && this.#sending < maxUnderWay && !this.#abandon.signal.aborted) {
      const all = this.#waiting;
      const set = all.length <= maxSet ? all : all.slice(0, maxSet);
      this.#waiting = all.length <= maxSet ? [] : all.slice(maxSet);
      this.#sending += 1;
      void this.#sendUntilTaken(set).then(() => {
        this.#sending -= 1;
        this.#sendWaiting();
        this.#noteEmpty();
        this.#options.onRoom();
      });
    }
  }

  #noteEmpty(): void {
    if (this.#waiting.length > 0 || this.#sending > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  async #sendUntilTaken(set: readonly Report[]): Promise<void> {
    const { clock, random, log } = this.#options;
    const mayRetry = (error: unknown, retry: number): boolean => {
      if (!mayPass(error)) return false;
      log.warn({ err: error, reports: set.length, retry }, 'could not store reports; retrying');
      return true;
    };
    const { signal } = this.#abandon;
    try {
      await retrying(() => this.#send(set), { policy: BACKOFF, clock, random, signal, mayRetry });
    } catch (error) {
      if (!mayPass(error)) await this.#isolate(set, error);
    }
  }

  async #send(set: readonly Report[]): Promise<void> {
    const { engine } = this.#options;
    const along = this.#options.claimAlong();
    try {
      if (along === null) await engine.report(set);
      else along.arrived((await engine.reportAndClaim(set, along.request)).claimed);
    } catch (error) {
      along?.arrived(null);
      throw error;
    }
  }

  /** Halves the set until the bad report is alone; its task then fails with the reason. */
  async #isolate(set: readonly Report[], error: unknown): Promise<void> {
    const [only] = set;
    if (set.length > 1) {
      const middle = set.length >> 1;
      await this.#sendUntilTaken(set.slice(0, middle));
      await this.#sendUntilTaken(set.slice(middle));
      return;
    }
    const message = messageOf(error);
    this.#options.log.error({ task_id: only!.task_id, err: error }, 'could not store the report of a task');
    const { task_id, attempt, log } = only!;
    const substitute: Report = { task_id, attempt, outcome: 'failed', reason: storable(message) };
    if (log !== undefined) substitute.log = log;
    await this.#options.engine.report([substitute]).catch((again: unknown) => {
      this.#options.log.error({ task_id, err: again }, 'task left to its timeout');
    });
  }
}

/** Catalogued errors say whether a retry helps; for any other error a set of one decides. */
function mayPass(error: unknown): boolean {
  return error instanceof HeddleError && error.retryable;
}
