import { Coalescer } from '../runtime/coalescer.ts';
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

/** Two sets under way keep the database and this process busy at the same time; more would only be smaller ones. */
const UNDER_WAY_MAX = 2;
/** Calls whose messages travel together. */
const CALLS_MAX = 100;

/**
 * Sends and deletes of one process that come at the same time share a statement and a commit. Calls that come one at a
 * time never wait for others.
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
          // Where one of several statements fails, the calls are repeated: what is stored already is dropped by its id.
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

  /** Resolves when everything begun has ended. */
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

/** In order of ids: two statements over the same messages then lock them in the same order. */
export function inOrder<Row extends { id: string }>(rows: Row[]): Row[] {
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Sets of at most as many as one statement takes. */
export function chunksOf<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / SET_MAX) }, (_, index) =>
    items.slice(index * SET_MAX, (index + 1) * SET_MAX),
  );
}
