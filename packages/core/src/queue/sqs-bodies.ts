import { HeddleError } from '@heddle/base/errors';
import type { Logger } from '@heddle/base/log';
import { newId } from '@heddle/base/random';
import type { Database } from '../store/database.ts';
import {
  deleteBodies,
  loadBodies,
  readBodies,
  saveBodies,
  touchBodies,
  type BodyReceipt,
} from '../store/queue-outbox.ts';

/** Placeholder at SQS for a body that it cannot carry. */
export const PLACEHOLDER = '{"type":"BodyInDatabase"}';

/** Stores in the database the bodies that SQS cannot carry: too large, empty, or with characters that it rejects. */
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

  /** Loads bodies for their deliveries, which hold them from then on. A missing body was handled before. */
  async load(receipts: readonly BodyReceipt[]): Promise<ReadonlyMap<string, string>> {
    if (receipts.length === 0) return new Map();
    if (this.#database !== null) return await loadBodies(this.#database, receipts);
    throw new Error('The body of a message is in the database, but this process has no database');
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return ids.length === 0 || this.#database === null ? new Map() : await readBodies(this.#database, ids);
  }

  /** Keeps bodies of messages just dead-lettered for as long as SQS keeps these. */
  async touch(ids: readonly string[]): Promise<void> {
    if (ids.length > 0 && this.#database !== null) await touchBodies(this.#database, ids);
  }

  /** Deletes bodies after their messages; leftovers of a failure are swept later. */
  async delete(receipts: readonly BodyReceipt[]): Promise<void> {
    if (receipts.length === 0 || this.#database === null) return;
    try {
      await deleteBodies(this.#database, receipts);
    } catch (error) {
      this.#log.debug(
        { err: error, bodies: receipts.length },
        'could not delete bodies of handled messages; they will be swept',
      );
    }
  }
}
