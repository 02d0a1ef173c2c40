import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Database } from '../store/database.ts';
import { countListeners, notifyQueues, QUEUE_CHANNEL } from '../store/queue-messages.ts';
import type { Waiting } from './waiting.ts';

/** Interval at which new listening processes are detected; until then they find messages by polling. */
const LOOK_INTERVAL_MS = 1_000;

/**
 * Notifies receivers of new messages: those of this process at once, others by NOTIFY after the commit. While one
 * notification is being sent, further queues are merged into the next; a lost one costs only latency.
 */
export class PostgresSignals {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting: Waiting;
  readonly #pending = new Set<string>();
  #sending: Promise<void> | undefined;
  #listening: Promise<void> | undefined;
  #unlisten: (() => Promise<void>) | undefined;
  /** Whether other processes listen; assumed until known. */
  #othersListen = true;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(database: Database, clock: Clock, log: Logger, waiting: Waiting) {
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
    this.#waiting = waiting;
  }

  arrived(queue: string): void {
    this.#waiting.arrived(queue);
    if (this.#closed) return;
    this.#lookAgain();
    if (!this.#othersListen) return;
    this.#pending.add(queue);
    this.#sending ??= this.#send();
  }

  /** Whether notifications reach this process, as far as known. */
  get listens(): boolean {
    return this.#listening !== undefined;
  }

  /** Resolves when this process listens to notifications, or when that failed for now. */
  listen(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#listening ??= this.#database
      .listen(QUEUE_CHANNEL, (payload) => this.#heard(payload))
      .then((unlisten) => {
        this.#unlisten = unlisten;
      })
      .catch((error: unknown) => {
        this.#log.warn({ err: error }, 'could not listen for messages; polling queues');
      });
    return this.#listening;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
    await this.#listening;
    await this.#unlisten?.();
  }

  #heard(payload: string): void {
    // Reconnected: notifications may have been lost meanwhile.
    if (payload === '') this.#waiting.arrivedAnywhere();
    else for (const queue of JSON.parse(payload) as string[]) this.#waiting.arrived(queue);
  }

  /** Checks periodically whether any other process listens; without one no notification is needed. */
  #lookAgain(): void {
    const now = this.#clock.monotonic();
    if (now - this.#lookedAt < LOOK_INTERVAL_MS) return;
    this.#lookedAt = now;
    countListeners(this.#database)
      .then((listeners) => {
        this.#othersListen =
          listeners > (this.#listening === undefined || this.#database.stats().polls === true ? 0 : 1);
      })
      .catch((error: unknown) => {
        this.#othersListen = true;
        this.#log.debug({ err: error }, 'could not list listeners; notifying all');
      });
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      const queues = [...this.#pending].slice(0, 30);
      for (const queue of queues) this.#pending.delete(queue);
      try {
        await notifyQueues(this.#database, queues);
      } catch (error) {
        this.#log.debug({ err: error }, 'notification failed; other processes find the messages by polling');
      }
    }
    this.#sending = undefined;
  }
}
