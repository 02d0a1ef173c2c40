import type { BackoffPolicy } from '@heddle/base/backoff';
import { backoffMs } from '@heddle/base/backoff';
import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';
import type { Random } from '@heddle/base/random';
import type { Database, Queryable } from '../store/database.ts';
import {
  claimOutgoing,
  deleteOutgoing,
  insertOutgoing,
  OUTGOING_CHANNEL,
  outgoingDueInMs,
  postponeOutgoing,
  type OutgoingRow,
} from '../store/queue-outbox.ts';
import { SET_BYTES_MAX, SET_MAX, setsOf, type CheckedMessage } from './limits.ts';
import type { MessageQueue } from './port.ts';

/** Writes messages to the outbox; an OutgoingRelay sends them after the transaction, and after their delay. */
export async function writeOutgoing(
  tx: Queryable,
  queue: string,
  messages: readonly CheckedMessage[],
  now: string | null,
): Promise<void> {
  for (const set of setsOf(messages)) await insertOutgoing(tx, queue, set, now);
}

export interface OutgoingRelayOptions {
  database: Database;
  /** Destination of the messages. */
  queue: Pick<MessageQueue, 'send'>;
  clock: Clock;
  log: Logger;
  random: Random;
  now?: () => string | null;
}

/** Poll interval of an idle relay, in case a notification was lost. */
const POLL_MS = 1_000;
/** Time after which another process takes over the messages of a dead one. */
const LEASE_MS = 60_000;
const RETRY: BackoffPolicy = { base_ms: 200, factor: 2, max_ms: 60_000, jitter: 0.5 };

/**
 * Sends messages from the outbox, at least once each and never before the commit. Any number of relays may run; message
 * ids let a FIFO queue, or the receiver, drop duplicates.
 */
export class OutgoingRelay {
  readonly #options: OutgoingRelayOptions;
  readonly #now: () => string | null;
  readonly #loop: Loop;
  #unlisten: Promise<() => Promise<void>> | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: OutgoingRelayOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => null);
    const { clock, log } = options;
    this.#loop = new Loop({ name: 'queue-relay', intervalMs: POLL_MS, clock, log, runOnce: () => this.#pass() });
  }

  start(): void {
    this.#loop.start();
    this.#unlisten ??= this.#options.database.listen(OUTGOING_CHANNEL, () => this.#loop.wake());
    this.#unlisten.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'could not listen for outgoing messages; polling the outbox');
    });
  }

  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#cancelTimer?.();
    await this.#loop.stop();
    const unlisten = await this.#unlisten?.catch(() => undefined);
    this.#unlisten = undefined;
    await unlisten?.();
  }

  /** Sends one set of due messages: `again` if more may wait. Returns after every message was sent or postponed. */
  async runOnce(): Promise<'again' | 'idle'> {
    const { database } = this.#options;
    const limits = { count: SET_MAX, bytes: SET_BYTES_MAX, leaseMs: LEASE_MS };
    const rows = await claimOutgoing(database, limits, this.#now());
    if (rows.length === 0) return 'idle';
    const byQueue = Map.groupBy(rows, (row) => row.queue);
    await Promise.all([...byQueue].map(([queue, group]) => this.#send(queue, group)));
    return 'again';
  }

  /** Sends everything that is due; for short-lived processes. */
  async drain(): Promise<void> {
    while ((await this.runOnce()) === 'again');
  }

  async #pass(): Promise<'again' | 'idle'> {
    const outcome = await this.runOnce();
    if (outcome === 'idle') await this.#wakeWhenDue();
    return outcome;
  }

  /** Sends delayed messages when they are due, not at the next poll. */
  async #wakeWhenDue(): Promise<void> {
    this.#cancelTimer?.();
    const dueInMs = await outgoingDueInMs(this.#options.database, this.#now());
    if (dueInMs === null || dueInMs >= POLL_MS) return;
    this.#cancelTimer = this.#options.clock.after(Math.max(1, Math.ceil(dueInMs)), () => this.#loop.wake());
  }

  async #send(queue: string, rows: readonly OutgoingRow[]): Promise<void> {
    const { database, log, random } = this.#options;
    const positions = rows.map((row) => row.position);
    try {
      await this.#options.queue.send(
        queue,
        rows.map(({ id, body, message_group: group }) => ({ id, body, ...(group === null ? {} : { group }) })),
      );
    } catch (error) {
      const delayMs = backoffMs(RETRY, rows[0]!.tries, () => random.next());
      log.warn({ err: error, queue, messages: rows.length, delay_ms: delayMs }, 'messages could not be sent; retrying');
      await postponeOutgoing(database, positions, delayMs, this.#now());
      return;
    }
    await deleteOutgoing(database, positions);
  }
}
