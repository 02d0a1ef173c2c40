import type { ByteSource, Input } from './byte-source.ts';
import type { ArchiveBudget } from './context.ts';
import { EntryContent } from './entry-content.ts';
import { admitName } from './entry-name.ts';
import type { ArchiveEntry, ArchiveFormat, ArchiveReader } from './port.ts';
import { StoredUnpacker } from './unpack/unpacker.ts';

/** A document or database that is too large for memory: its bytes, as they are. */
export class RawObject implements ArchiveReader {
  readonly format: ArchiveFormat;
  readonly close: () => Promise<void>;
  readonly #input: Input;
  readonly #budget: ArchiveBudget;
  #isGiven = false;

  constructor(
    format: ArchiveFormat,
    head: Buffer,
    source: ByteSource,
    budget: ArchiveBudget,
    close: () => Promise<void>,
  ) {
    this.format = format;
    let left = head;
    this.#input = {
      peek: (length) => (left.length > 0 ? Promise.resolve(left.subarray(0, 64 * 1024)) : source.peek(length)),
      consume: (length) => {
        if (left.length > 0) left = left.subarray(length);
        else source.consume(length);
        budget.consume(length);
      },
    };
    this.#budget = budget;
    this.close = close;
  }

  next(): Promise<ArchiveEntry | null> {
    if (this.#isGiven) return Promise.resolve(null);
    this.#isGiven = true;
    const budget = this.#budget;
    const { entryBytesMax } = budget.limits;
    const { name, path } = admitName(budget, Buffer.from('bytes'), 'latin1');
    const unpacker = new StoredUnpacker(this.#input, Infinity);
    const open = (): EntryContent => new EntryContent({ path, size: -1, unpacker, budget, entryBytesMax });
    return Promise.resolve({ name, kind: 'file', size_hint: -1, open });
  }
}
