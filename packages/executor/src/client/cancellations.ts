import type { Clock } from '@heddle/base/clock';
import type { Random } from '@heddle/base/random';
import { RemoteCallFailure } from './failures.ts';
import type { Link } from './link.ts';
import { waitMs } from './retrying.ts';
import { cancel } from './task-calls.ts';

/** Attempts per task; together they take a few seconds. */
const TRIES_MAX = 6;

/** Cancels abandoned tasks at their executors, in the background. */
export class Cancellations {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #pending = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  add(link: Link, task: { correlationId?: string; idempotencyKey: string }): void {
    const pending = this.#cancelTask(link, task).finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  /** Waits for cancellations in flight. */
  async close(withinMs: number): Promise<void> {
    const cancelTimer = this.#clock.after(withinMs, () => this.#closing.abort(new Error('the client is closed')));
    await Promise.all(this.#pending);
    cancelTimer();
  }

  async #cancelTask(link: Link, task: { correlationId?: string; idempotencyKey: string }): Promise<void> {
    const { correlationId: correlation_id, idempotencyKey: idempotency_key } = task;
    const request = correlation_id === undefined ? { idempotency_key } : { correlation_id };
    const { signal } = this.#closing;
    for (let tries = 1; tries <= TRIES_MAX && !signal.aborted; tries += 1) {
      try {
        await cancel(link, request, signal);
        return;
      } catch (error) {
        // A submission in transit is not yet known to the executor; a task with a correlation id has ended.
        const isKnown = error instanceof RemoteCallFailure && error.code !== 'NOT_FOUND' && !error.retryable;
        if (isKnown || tries === TRIES_MAX) return;
        await this.#clock.sleep(waitMs(error, tries, this.#random), signal);
      }
    }
  }
}
