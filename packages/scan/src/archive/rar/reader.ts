import { LimitedInput, MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { ObjectFault } from '../../source/port.ts';
import { Damage, LazyUnpacker, StoredUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { headerLength, LENGTH_BYTES, parseBlock, type RarBlock, type RarFile, rarVersion } from './headers.ts';

/** Lists RAR archives of the versions 4 and 5, and reads entries that are stored; the methods of others are not supported. */
export class RarReader implements ArchiveReader {
  readonly format = 'rar';
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  readonly #close: () => Promise<void>;
  #version: 4 | 5 | null = null;
  #next = 0;
  #done = false;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.#close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    try {
      for (;;) {
        const block = await this.#nextBlock();
        if (block === null) return null;
        // Comments and the like are services; their contents have no names.
        if (block.kind === 'file' && block.file !== null) return this.#entryOf(block.file, block.data_bytes);
      }
    } catch (error) {
      this.#done = true;
      if (!(error instanceof Damage)) throw error;
      const { path } = this.#budget.context;
      const { problem } = this.#budget.damage(error.message);
      throw new ObjectFault({ ...problem, path, code: error.code }, error);
    }
  }

  async #nextBlock(): Promise<RarBlock | null> {
    if (this.#done) return null;
    const source = this.#source;
    if (this.#version === null) {
      this.#version = rarVersion(await source.peek(8));
      if (this.#version === null) throw new Damage('the archive is damaged');
      this.#next = this.#version === 5 ? 8 : 7;
    }
    const isThere = await source.skip(this.#next - source.position);
    const head = Buffer.from((await source.peek(LENGTH_BYTES)).slice(0, LENGTH_BYTES));
    if (!isThere || (head.length > 0 && head.length < LENGTH_BYTES))
      throw new Damage('the archive ends within an entry');
    if (head.length === 0) throw new Damage('the archive has no end marker; later entries may be missing');
    const length = headerLength(this.#version, head);
    const chunk = await source.peek(length);
    if (chunk.length < length) throw new Damage('the archive ends within a header');
    const block = parseBlock(this.#version, Buffer.from(chunk.slice(0, length)));
    source.consume(length);
    this.#next = source.position + block.data_bytes;
    this.#done = block.kind === 'end';
    return block;
  }

  #entryOf(file: RarFile, packedBytes: number): ArchiveEntry {
    const budget = this.#budget;
    budget.countEntry();
    const { name, path } = admitName(budget, file.name, 'latin1');
    const kind = file.is_directory ? 'directory' : file.is_link ? 'link' : 'file';
    const { entryBytesMax } = budget.limits;
    const check = file.crc === undefined || file.is_encrypted ? {} : { crc: file.crc };
    const open = (): EntryContent => {
      const unpacker = new LazyUnpacker(() => Promise.resolve(this.#unpack(file, packedBytes)));
      return new EntryContent({ path, size: file.size, unpacker, budget, entryBytesMax, ...check });
    };
    return { name, kind, size_hint: file.size, open };
  }

  #unpack(file: RarFile, packedBytes: number): Unpacker {
    if (file.is_encrypted) throw new Damage('the entry is encrypted', 'encrypted');
    if (file.is_split) throw new Damage('the entry continues in another volume', 'unsupported_archive');
    if (!file.is_stored) {
      const message = 'the entry is compressed with a method of RAR, which is not supported';
      throw new Damage(message, 'unsupported_archive');
    }
    const input = new MeteredInput(new LimitedInput(this.#source, packedBytes), this.#budget);
    return new StoredUnpacker(input, packedBytes);
  }

  close(): Promise<void> {
    this.#done = true;
    return this.#close();
  }
}
