import type { Journal } from './journal/journal.ts';
import type { Location } from './journal/records.ts';

/** Bytes stored in the journal, and also in memory if small. */
export interface StoredBytes {
  bytes: Uint8Array | null;
  location: Location;
  /** Whether the bytes count towards the budget. */
  counted: boolean;
}

const IN_MEMORY_BYTES_MAX = 64 * 1024;
const BUDGET_BYTES = 64 * 1_048_576;

/** Keeps arguments and outcomes in memory within a total budget; others are read back from the journal. */
export class ByteStore {
  readonly #journal: Journal;
  #countedBytes = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Marks bytes as durable, so that they may be dropped from memory. */
  settle(stored: StoredBytes): void {
    const { bytes, counted } = stored;
    if (bytes === null || counted) return;
    if (bytes.length > IN_MEMORY_BYTES_MAX || this.#countedBytes + bytes.length > BUDGET_BYTES) stored.bytes = null;
    else {
      stored.counted = true;
      this.#countedBytes += bytes.length;
    }
  }

  /** Drops bytes that are no longer needed. */
  release(stored: StoredBytes): void {
    if (stored.counted) this.#countedBytes -= stored.bytes?.length ?? 0;
    stored.counted = false;
    stored.bytes = null;
  }

  /** Returns the bytes, without a promise if they are in memory, as they nearly always are. */
  read(stored: StoredBytes): Uint8Array | Promise<Uint8Array> {
    return stored.bytes ?? this.#journal.read(stored.location);
  }
}
