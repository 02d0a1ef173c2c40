import type { JsonObject } from '@heddle/base/json';
import type { ModelBooks } from '@heddle/core/engine/port';
import { storable } from './task-result.ts';

/** Records shown in a result. */
const SHOWN = 100;
const SHOWN_CHARACTERS_MAX = 256 * 1024;
/** Without a database a result contains as many as possible. */
const ALONE_CHARACTERS_MAX = 768 * 1024;
const CHUNK_RECORDS = 500;
const CHUNK_CHARACTERS_MAX = 512 * 1024;
/** A longer record is useless. */
const RECORD_CHARACTERS_MAX = 1024 * 1024;

export interface CollectorOptions {
  /** Null for a worker without a database. */
  books: Pick<ModelBooks, 'putChunk'> | null;
  task_id: string;
  attempt: number;
}

/**
 * Collects records in bounded memory: each full chunk is written while the producer waits. A few records are in the
 * result alone.
 */
export class RecordCollector {
  readonly #options: CollectorOptions;
  readonly #shown: JsonObject[] = [];
  #shownCharacters = 0;
  #shownAll = true;
  #waiting: JsonObject[] = [];
  #waitingCharacters = 0;
  #chunks = 0;
  #lost = 0;
  count = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Records that were not stored. */
  get lost(): number {
    return this.#lost;
  }

  async take(given: object): Promise<void> {
    const record = storable(given as JsonObject) as JsonObject;
    const characters = JSON.stringify(record).length;
    this.count += 1;
    if (characters > RECORD_CHARACTERS_MAX) {
      this.#lost += 1;
      return;
    }
    const isShown = this.#show(record, characters);
    if (this.#options.books === null) {
      if (!isShown) this.#lost += 1;
      return;
    }
    const isFull = this.#waiting.length >= CHUNK_RECORDS || this.#waitingCharacters + characters > CHUNK_CHARACTERS_MAX;
    if (isFull) await this.#write();
    this.#waiting.push(record);
    this.#waitingCharacters += characters;
  }

  /** Returns the records for the result; if they are not all, every record is in chunks. */
  async end(): Promise<{ records: JsonObject[]; chunks: number }> {
    if (!this.#shownAll && this.#options.books !== null) await this.#write();
    return { records: this.#shown, chunks: this.#chunks };
  }

  #show(record: JsonObject, characters: number): boolean {
    const alone = this.#options.books === null;
    const remaining = alone ? ALONE_CHARACTERS_MAX : SHOWN_CHARACTERS_MAX;
    const isShown = (alone || this.#shown.length < SHOWN) && this.#shownCharacters + characters <= remaining;
    if (isShown) {
      this.#shown.push(record);
      this.#shownCharacters += characters;
    } else this.#shownAll = false;
    return isShown;
  }

  async #write(): Promise<void> {
    const { books, task_id, attempt } = this.#options;
    const records = this.#waiting;
    if (records.length === 0) return;
    const ordinal = this.#chunks;
    this.#chunks += 1;
    this.#waiting = [];
    this.#waitingCharacters = 0;
    await books!.putChunk({ task_id, attempt, ordinal }, records);
  }
}
