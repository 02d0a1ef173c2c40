import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import type { Database, Queryable } from '../store/database.ts';
import {
  deadLetterMessages,
  countMessages,
  findDeadLetters,
  forgetDeadLetters,
  hideMessages,
  insertMessagesAndNotify,
  redriveMessages,
  takeMessages,
  type MessageRow,
  type ReceiptRow,
} from '../store/queue-messages.ts';
import {
  checkMessages,
  checkQueueName,
  checkReceive,
  closedError,
  cutReason,
  DEFAULT_MAX_RECEIVES,
  SET_BYTES_MAX,
  SET_MAX,
  setsOf,
} from './limits.ts';
import type { DeadLetter, MessageQueue, OutgoingMessage, QueueDepth, ReceivedMessage, ReceiveOptions } from './port.ts';
import { PostgresSignals } from './postgres-signals.ts';
import { PostgresTakes } from './postgres-takes.ts';
import { inOrder, PostgresWrites, chunksOf } from './postgres-writes.ts';
import { POLL_MS, Progress } from './progress.ts';
import { Waiting } from './waiting.ts';

export interface PostgresQueueOptions {
  database: Database;
  clock: Clock;
  log: Logger;
  /** Deliveries of a message before it is dead-lettered; 10 by default. */
  maxReceives?: number;
  /** Time that statements use; null, the default: the database's clock. */
  now?: () => string | null;
}

/** Queues in the tables of this database. The database belongs to the caller, who closes it after the queue. */
export class PostgresQueue implements MessageQueue {
  readonly driver = 'postgres';
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #now: () => string | null;
  readonly #waiting: Waiting;
  readonly #signals: PostgresSignals;
  readonly #progress: Progress;
  readonly #writes: PostgresWrites;
  readonly #takes: PostgresTakes;

  constructor({ database, clock, log, maxReceives = DEFAULT_MAX_RECEIVES, now = () => null }: PostgresQueueOptions) {
    this.#database = database;
    this.#clock = clock;
    this.#now = now;
    this.#waiting = new Waiting(clock);
    this.#signals = new PostgresSignals(database, clock, log, this.#waiting);
    this.#progress = new Progress(clock);
    this.#writes = new PostgresWrites(database, now);
    this.#takes = new PostgresTakes({
      progress: this.#progress,
      take: (take) => takeMessages(database, { ...take, maxReceives, bytes: SET_BYTES_MAX }, now()),
    });
  }

  async send(queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#refuseClosed();
    if (messages.length === 0) return;
    await this.#writes.send(queue, checkMessages(queue, messages));
    this.#signals.arrived(queue);
  }

  async sendIn(tx: Queryable, queue: string, messages: readonly OutgoingMessage[]): Promise<void> {
    this.#refuseClosed();
    for (const set of setsOf(checkMessages(queue, messages))) {
      await insertMessagesAndNotify(tx, queue, set, this.#now());
    }
  }

  async receive(queue: string, options: ReceiveOptions): Promise<ReceivedMessage[]> {
    checkQueueName(queue);
    checkReceive(options);
    const deadline = this.#clock.monotonic() + options.wait_ms;
    while (!this.#waiting.closed && options.signal?.aborted !== true) {
      const arrivals = this.#waiting.arrivals(queue);
      const taken = await this.#takes.take(queue, options);
      if (taken === null) continue;
      if (taken.rows.length > 0) {
        this.#waiting.wakeNext(queue);
        return taken.rows.map(messageOf);
      }
      if (taken.died > 0) continue;
      const { from_ms: fromMs } = taken;
      if (fromMs !== null && this.#progress.mayLookAtAll(queue)) continue;
      const leftMs = deadline - this.#clock.monotonic();
      if (leftMs <= 0) return [];
      const idleMs = Math.min(leftMs, taken.next_due_in_ms ?? POLL_MS, this.#progress.idleMs(queue, fromMs));
      if (!this.#signals.listens) await this.#signals.listen();
      else await this.#waiting.wait(queue, arrivals, idleMs, options.signal);
    }
    return [];
  }

  async extend(queue: string, receipts: readonly string[], visibilityMs: number): Promise<void> {
    await this.#hide(queue, receipts, visibilityMs, false);
  }

  async release(queue: string, receipts: readonly string[], delayMs = 0): Promise<void> {
    await this.#hide(queue, receipts, delayMs, true);
    if (receipts.length > 0) this.#signals.arrived(queue);
  }

  async delete(queue: string, receipts: readonly string[]): Promise<void> {
    const rows = rowsOf(receipts);
    if (rows.length > 0) await this.#writes.delete(queue, rows);
  }

  async deadLetter(queue: string, letters: readonly { receipt: string; reason: string }[]): Promise<void> {
    const rows = letters.flatMap(({ receipt, reason }) => {
      const row = parseReceipt(receipt);
      return row === null ? [] : [{ ...row, reason: cutReason(reason) }];
    });
    for (const set of chunksOf(inOrder(rows))) await deadLetterMessages(this.#database, queue, set, this.#now());
  }

  listDead(queue: string | null, page: { offset: number; limit: number }): Promise<DeadLetter[]> {
    return findDeadLetters(this.#database, queue, page);
  }

  async redrive(queue: string, ids: readonly string[] | null): Promise<number> {
    this.#refuseClosed();
    let total = 0;
    for (const set of ids === null ? everythingInSets() : chunksOf(ids)) {
      const moved = await redriveMessages(this.#database, queue, set, SET_MAX, this.#now());
      total += moved;
      if (moved > 0) this.#signals.arrived(queue);
      if (set === null && moved < SET_MAX) break;
    }
    return total;
  }

  depth(queue: string): Promise<QueueDepth> {
    return countMessages(this.#database, queue, this.#now());
  }

  /** Deletes dead letters older than this, at most `limit`; returns their number. */
  forgetDead(olderThanMs: number, limit: number): Promise<number> {
    return forgetDeadLetters(this.#database, olderThanMs, limit, this.#now());
  }

  async close(): Promise<void> {
    this.#waiting.close();
    await Promise.all([this.#writes.drain(), this.#takes.drain()]);
    await this.#signals.close();
  }

  async #hide(queue: string, receipts: readonly string[], delayMs: number, release: boolean): Promise<void> {
    for (const set of chunksOf(inOrder(rowsOf(receipts)))) {
      await hideMessages(this.#database, { queue, receipts: set, delayMs, release }, this.#now());
    }
  }

  #refuseClosed(): void {
    if (this.#waiting.closed) throw closedError();
  }
}

function messageOf(row: MessageRow): ReceivedMessage {
  return {
    id: row.id,
    body: row.body,
    receipt: `${row.id}.${row.receipt}`,
    receive_count: row.receive_count,
    sent_at: row.sent_at,
  };
}

const RECEIPT = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(\d{1,15})$/;

/** Ignores an invalid receipt like a stale one. */
function parseReceipt(receipt: string): ReceiptRow | null {
  const [, id, number] = RECEIPT.exec(receipt) ?? [];
  return id === undefined || number === undefined ? null : { id, receipt: Number(number) };
}

function rowsOf(receipts: readonly string[]): ReceiptRow[] {
  return receipts.map(parseReceipt).filter((row) => row !== null);
}

function* everythingInSets(): Generator<null> {
  for (;;) yield null;
}
