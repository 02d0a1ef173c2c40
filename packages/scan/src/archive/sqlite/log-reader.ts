import { type ByteSource, type Input, MeteredInput } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import type { Unpacker } from '../unpack/unpacker.ts';
import { separated } from './remains.ts';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** Reads the write-ahead log of an SQLite database: pages as they became, which the database itself may lack. */
export class SqliteLogReader implements ArchiveReader {
  readonly format = 'sqlite-wal';
  readonly close: () => Promise<void>;
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  #isGiven = false;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    if (this.#isGiven) return null;
    this.#isGiven = true;
    const budget = this.#budget;
    const input = new MeteredInput(this.#source, budget);
    const header = await input.peek(HEADER_BYTES);
    const pageBytes = header.length < HEADER_BYTES ? 0 : Buffer.from(header.slice(8, 12)).readUInt32BE();
    if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0)
      throw budget.damage('the header of the write-ahead log is damaged');
    input.consume(HEADER_BYTES);
    budget.countEntry();
    const { name, path } = admitName(budget, Buffer.from('pages'), 'latin1');
    const { entryBytesMax } = budget.limits;
    const unpacker = new PageUnpacker(input, pageBytes);
    const open = (): EntryContent => new EntryContent({ path, size: -1, unpacker, budget, entryBytesMax });
    return { name, kind: 'file', size_hint: -1, open };
  }
}

/** Delivers the pages of a log, the last one as far as it goes. */
class PageUnpacker implements Unpacker {
  readonly #input: Input;
  readonly #frameBytes: number;
  #isFirst = true;

  constructor(input: Input, pageBytes: number) {
    this.#input = input;
    this.#frameBytes = FRAME_HEADER_BYTES + pageBytes;
  }

  async next(): Promise<Uint8Array | null> {
    if (this.#isFirst) {
      this.#isFirst = false;
      // The first page may be that of a database, of which the others are not the pages.
      return Buffer.from('\n');
    }
    const frame = (await this.#input.peek(this.#frameBytes)).slice(0, this.#frameBytes);
    this.#input.consume(frame.length);
    return frame.length <= FRAME_HEADER_BYTES ? null : separated(Buffer.from(frame.subarray(FRAME_HEADER_BYTES)));
  }

  close(): void {
    // The input belongs to the archive.
  }
}
