import type { ObjectFault } from '../../source/port.ts';
import { LimitedInput, MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { StoredUnpacker } from '../unpack/unpacker.ts';

const MAGIC_BYTES = 8;
const HEADER_BYTES = 60;
/** Name, size and the end of a header: its other fields do not matter here. */
const HEADER = /^(.{16}).{32}(\d{1,10}) *`\n$/s;

/** Reads a Debian package: an `ar` archive of a version and two tar files, which are archives of their own. */
export class ArReader implements ArchiveReader {
  readonly format = 'deb';
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  readonly #close: () => Promise<void>;
  #next = MAGIC_BYTES;
  #done = false;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.#close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    if (this.#done) return null;
    const source = this.#source;
    const isThere = await source.skip(this.#next - source.position);
    const header = await source.peek(HEADER_BYTES);
    if (isThere && header.length === 0) {
      this.#done = true;
      return null;
    }
    if (!isThere || header.length < HEADER_BYTES) throw this.#damage('the archive ends within an entry');
    const parsed = HEADER.exec(Buffer.from(header.subarray(0, HEADER_BYTES)).toString('latin1'));
    if (parsed === null) throw this.#damage(`the header at byte ${source.position} is damaged`);
    const [, rawName = '', digits] = parsed;
    const size = Number(digits);
    source.consume(HEADER_BYTES);
    // Entries begin at even offsets; at the end of the archive, some programs leave the padding out.
    const end = source.position + size;
    this.#next = end + (size % 2);
    this.#budget.countEntry();
    const stored = Buffer.from(rawName.replace(/\/? *$/, ''), 'latin1');
    const { name, path } = admitName(this.#budget, stored, 'latin1');
    const open = (): EntryContent => {
      const unpacker = new StoredUnpacker(new MeteredInput(new LimitedInput(source, size), this.#budget), size);
      const { entryBytesMax } = this.#budget.limits;
      return new EntryContent({ path, size, unpacker, budget: this.#budget, entryBytesMax });
    };
    return { name, kind: 'file', size_hint: size, open };
  }

  #damage(message: string): ObjectFault {
    this.#done = true;
    return this.#budget.damage(message);
  }

  close(): Promise<void> {
    this.#done = true;
    return this.#close();
  }
}
