import { Coalescer } from '@heddle/base/coalescer';
import type { Database } from '../store/database.ts';
import { deleteMessages, insertMessages, type ReceiptRow } from '../store/queue-messages.ts';
import { SET_MAX, setsOf, type CheckedMessage } from './limits.ts';

interface Sending {
  queue: string;
  messages: CheckedMessage[];
}

interface Deleting {
  queue: string;
  receipts: ReceiptRow[];
}

/** Two concurrent sets keep the database and this process busy; more would only be smaller ones. */
const UNDER_WAY_MAX = 2;
/** Calls whose messages share a statement. */
const CALLS_MAX = 100;

/**
 * Batches concurrent sends and deletes of one process into a shared statement and commit. Calls that come one at a time
 * never wait for others.
 */
export class PostgresWrites {
  readonly #sends: Coalescer<Sending, undefined>;
  readonly #deletes: Coalescer<Deleting, undefined>;

  constructor(database: Database, now: () => string | null) {
    const limits = { maxItems: CALLS_MAX, maxUnderWay: UNDER_WAY_MAX, maxWaiting: Number.POSITIVE_INFINITY };
    this.#sends = new Coalescer({
      ...limits,
      flush: (calls) =>
        inGroups(calls, async (queue, group) => {
          const messages = group.flatMap((call) => call.messages);
          // If one of several statements fails, the calls are repeated; messages that are stored already are dropped by
          // their ids.
          for (const set of setsOf(messages)) await insertMessages(database, queue, set, now());
        }),
    });
    this.#deletes = new Coalescer({
      ...limits,
      flush: (calls) =>
        inGroups(calls, async (queue, group) => {
          const receipts = inOrder(group.flatMap((call) => call.receipts));
          for (const set of chunksOf(receipts)) await deleteMessages(database, queue, set);
        }),
    });
  }

  async send(queue: string, messages: CheckedMessage[]): Promise<void> {
    await this.#sends.add({ queue, messages });
  }

  async delete(queue: string, receipts: ReceiptRow[]): Promise<void> {
    await this.#deletes.add({ queue, receipts });
  }

  /** Resolves when everything that has begun has ended. */
  async drain(): Promise<void> {
    await Promise.all([this.#sends.drain(), this.#deletes.drain()]);
  }
}

async function inGroups<Call extends { queue: string }>(
  calls: readonly Call[],
  write: (queue: string, group: Call[]) => Promise<void>,
): Promise<undefined[]> {
  const groups = Map.groupBy(calls, (call) => call.queue);
  await Promise.all([...groups].map(([queue, group]) => write(queue, group)));
  return calls.map(() => undefined);
}

/** Sorted by id, so that two statements on the same messages lock them in the same order. */
export function inOrder<Row extends { id: string }>(rows: Row[]): Row[] {
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Splits into sets of at most one statement's size. */
export function chunksOf<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / SET_MAX) }, (_, index) =>
    items.slice(index * SET_MAX, (index + 1) * SET_MAX),
  );
}
