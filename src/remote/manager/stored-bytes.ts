import type { Journal } from './journal/journal.ts';
import type { Location } from './journal/records.ts';

/** Bytes that stand in the journal; in memory as well where they are few. */
export interface StoredBytes {
  bytes: Uint8Array | null;
  location: Location;
  /** Whether the bytes count against the budget. */
  counted: boolean;
}

const IN_MEMORY_BYTES_MAX = 64 * 1024;
const BUDGET_BYTES = 64 * 1_048_576;

/** Which bytes of arguments and outcomes are kept in memory: all together within one budget, the others are read again. */
export class ByteStore {
  readonly #journal: Journal;
  #countedBytes = 0;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Bytes that are durable: from now on they need not be in memory. */
  settle(stored: StoredBytes): void {
    const { bytes, counted } = stored;
    if (bytes === null || counted) return;
    if (bytes.length > IN_MEMORY_BYTES_MAX || this.#countedBytes + bytes.length > BUDGET_BYTES) stored.bytes = null;
    else {
      stored.counted = true;
      this.#countedBytes += bytes.length;
    }
  }

  /** They are not needed any more. */
  release(stored: StoredBytes): void {
    if (stored.counted) this.#countedBytes -= stored.bytes?.length ?? 0;
    stored.counted = false;
    stored.bytes = null;
  }

  /** No promise where they are in memory: that is nearly always. */
  read(stored: StoredBytes): Uint8Array | Promise<Uint8Array> {
    return stored.bytes ?? this.#journal.read(stored.location);
  }
}
