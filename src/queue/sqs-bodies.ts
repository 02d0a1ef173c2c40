import { HeddleError } from '../domain/errors.ts';
import type { Logger } from '../runtime/log.ts';
import { newId } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import {
  deleteBodies,
  loadBodies,
  readBodies,
  saveBodies,
  touchBodies,
  type BodyReceipt,
} from '../store/queue-outbox.ts';

/** What stands at SQS in place of a body that it cannot carry. */
export const PLACEHOLDER = '{"type":"BodyInDatabase"}';

/** Bodies that SQS cannot carry: too large, empty, or with characters that it refuses. They are kept in the database. */
export class SqsBodies {
  readonly #database: Database | null;
  readonly #log: Logger;

  constructor(database: Database | null, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  /** Stores bodies before their messages are sent; returns their ids, in order. */
  async save(bodies: readonly string[]): Promise<string[]> {
    if (bodies.length === 0) return [];
    if (this.#database === null) {
      throw new HeddleError(
        'BODY_TOO_LARGE',
        'SQS cannot carry this message, and without a database it cannot be kept elsewhere',
      );
    }
    const rows = bodies.map((body) => ({ id: newId(), body }));
    await saveBodies(this.#database, rows);
    return rows.map(({ id }) => id);
  }

  /** Loads bodies for their deliveries, which hold them from then on. One that is gone was handled before. */
  async load(receipts: readonly BodyReceipt[]): Promise<ReadonlyMap<string, string>> {
    if (receipts.length === 0) return new Map();
    if (this.#database !== null) return await loadBodies(this.#database, receipts);
    throw new Error('A message has its body in the database, and this process has none');
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return ids.length === 0 || this.#database === null ? new Map() : await readBodies(this.#database, ids);
  }

  /** Keeps bodies of dead letters that were just moved for as long as SQS keeps these. */
  async touch(ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && this.#database !== null) await touchBodies(this.#database, ids);
  }

  /** After the messages themselves: what stays behind after a failure is swept. */
  async delete(receipts: readonly BodyReceipt[]): Promise<void> {
    if (receipts.length === 0 || this.#database === null) return;
    try {
      await deleteBodies(this.#database, receipts);
    } catch (error) {
      this.#log.debug({ err: error, bodies: receipts.length }, 'Bodies of handled messages stay until they are swept');
    }
  }
}
