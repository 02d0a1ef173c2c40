import { LimitedInput, MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { ObjectFault } from '../../source/port.ts';
import { StoredUnpacker } from '../unpack/unpacker.ts';
import {
  BLOCK_BYTES,
  hasTarMagic,
  isTarHead,
  parseHeader,
  parsePax,
  type PaxRecords,
  type TarHeader,
} from './header.ts';

export interface TarReaderOptions {
  source: ByteSource;
  budget: ArchiveBudget;
  /** True where what is read is charged to the archive already, because it is being unpacked. */
  charged: boolean;
  /** Closes what is below. */
  close(): Promise<void>;
}

/** Bytes of an extended header that are looked at. */
const EXTENDED_BYTES_MAX = 64 * 1024;
/** Extended headers that one entry may have. */
const EXTENSIONS_MAX = 16;

/** ustar, pax, GNU and old tar, also several after each other. */
export class TarReader implements ArchiveReader {
  readonly format = 'tar';
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  readonly #options: TarReaderOptions;
  /** Where the content of the last entry ends, and where the next header begins. */
  #contentEnd = 0;
  #nextHeader = 0;
  #done = false;

  constructor(options: TarReaderOptions) {
    this.#options = options;
    this.#source = options.source;
    this.#budget = options.budget;
  }

  async next(): Promise<ArchiveEntry | null> {
    if (this.#done) return null;
    await this.#passContent();
    let pax: PaxRecords = {};
    for (let extensions = 0; extensions < EXTENSIONS_MAX; extensions++) {
      const header = await this.#readHeader();
      if (header === null) {
        if (extensions > 0) this.#report('the archive ends after an extended header, without the entry that it is for');
        this.#done = true;
        return null;
      }
      const size = pax.size ?? header.size;
      if (Number.isNaN(size)) throw this.#damage(SIZE_MESSAGE);
      if (header.type === 'x' || header.type === 'X')
        pax = { ...pax, ...parsePax(await this.#readExtension(header.size)) };
      else if (header.type === 'L') pax.path = withoutZeros(await this.#readExtension(header.size));
      else if (PASSED_OVER.includes(header.type)) await this.#readExtension(header.size);
      else return this.#entryOf(header, pax.path ?? header.name, await this.#contentSize(header, size, pax));
    }
    throw this.#damage(`an entry of the archive has more than ${EXTENSIONS_MAX} extended headers`);
  }

  #entryOf(header: TarHeader, rawName: Uint8Array, size: number): ArchiveEntry {
    const source = this.#source;
    this.#contentEnd = source.position + size;
    this.#nextHeader = source.position + paddedSize(size);
    this.#budget.countEntry(this.#options.charged);
    const { name, path } = admitName(this.#budget, rawName, 'latin1');
    const open = (): EntryContent => {
      const input = new LimitedInput(source, size);
      return new EntryContent({
        path,
        size,
        unpacker: new StoredUnpacker(this.#options.charged ? input : new MeteredInput(input, this.#budget), size),
        budget: this.#options.charged ? null : this.#budget,
        entry_bytes_max: this.#budget.budgets.entry_bytes_max,
      });
    };
    return { name, kind: kindOf(header, name, size), size_hint: size, open };
  }

  /** The bytes of content behind a header: not all types that state a size have any. */
  async #contentSize(header: TarHeader, size: number, pax: PaxRecords): Promise<number> {
    if (header.type === 'S') await this.#passSparseMap(header);
    if ('23456'.includes(header.type)) return 0;
    // Old programs state the size of what a hard link leads to, pax that of the content that follows.
    if (header.type === '1' && size > 0 && pax.size === undefined) {
      const block = await this.#source.peek(BLOCK_BYTES);
      if (block.length < BLOCK_BYTES || isZero(block) || isTarHead(block)) return 0;
    }
    return size;
  }

  async #passSparseMap(header: TarHeader): Promise<void> {
    let continues = header.map_continues;
    while (continues) {
      const block = await this.#source.peek(BLOCK_BYTES);
      if (block.length < BLOCK_BYTES) throw this.#damage('the archive ends within a header');
      continues = block[504] !== 0;
      this.#source.consume(BLOCK_BYTES);
    }
  }

  /** The next header, past blocks of zeros and damaged ones; null at the end. */
  async #readHeader(): Promise<TarHeader | null> {
    const source = this.#source;
    let zeros = 0;
    let isDamaged = false;
    for (;;) {
      const block = await source.peek(BLOCK_BYTES);
      if (block.length < BLOCK_BYTES) {
        if (block.length === 0 || isZero(block)) {
          // One of the two blocks of zeros at the end is enough: some programs write no more.
          if (zeros === 0) this.#report('the archive ends without its end mark; what followed is missing');
          return null;
        }
        throw this.#damage('the archive ends within a header');
      }
      if (isZero(block)) {
        zeros++;
      } else {
        const header = parseHeader(block);
        if (header !== null) {
          source.consume(BLOCK_BYTES);
          return header;
        }
        // What follows two blocks of zeros is another archive, or none of the archive's business.
        if (zeros > 1 && !hasTarMagic(block)) {
          this.#report('something else follows the end of the archive; it was not looked at');
          return null;
        }
        if (!isDamaged)
          this.#report(`the header at byte ${source.position} is damaged; the next whole one was looked for`);
        isDamaged = true;
      }
      source.consume(BLOCK_BYTES);
    }
  }

  /** The content of an extended header, at most as much as is looked at. */
  async #readExtension(size: number): Promise<Uint8Array> {
    const source = this.#source;
    if (Number.isNaN(size)) throw this.#damage(SIZE_MESSAGE);
    const length = Math.min(size, EXTENDED_BYTES_MAX);
    const chunk = await source.peek(length);
    if (chunk.length < length) throw this.#damage('the archive ends within an extended header');
    const body = chunk.slice(0, length);
    if (!(await source.skip(size))) throw this.#damage('the archive ends within an extended header');
    await source.skip(paddedSize(size) - size);
    if (size > length) this.#report(`an extended header has ${size} bytes; the first ${length} were looked at`);
    return body;
  }

  async #passContent(): Promise<void> {
    const { position } = this.#source;
    if (this.#contentEnd > position && !(await this.#source.skip(this.#contentEnd - position)))
      throw this.#damage('the archive ends within an entry');
    // An archive that was cut in the padding behind its last entry misses nothing.
    if (this.#nextHeader > this.#source.position) await this.#source.skip(this.#nextHeader - this.#source.position);
  }

  #report(message: string): void {
    const { path } = this.#budget.context;
    this.#budget.report({ code: 'malformed_archive', path, message, extent: 'partial' });
  }

  #damage(message: string): ObjectFault {
    this.#done = true;
    const extent = this.#budget.entries > 0 ? 'partial' : 'skipped';
    return new ObjectFault({ code: 'malformed_archive', path: this.#budget.context.path, message, extent });
  }

  close(): Promise<void> {
    this.#done = true;
    return this.#options.close();
  }
}

const SIZE_MESSAGE = 'an entry of the archive states a size that makes no sense';

/** Global headers, long link names, volume labels. */
const PASSED_OVER = 'gKVN';

function kindOf({ type }: TarHeader, name: string, size: number): ArchiveEntry['kind'] {
  if (size > 0 && type !== 'D') return 'file';
  if (type === '5' || type === 'D') return 'directory';
  if (type === '1' || type === '2') return 'link';
  if ('346'.includes(type)) return 'special';
  return name.endsWith('/') ? 'directory' : 'file';
}

function paddedSize(size: number): number {
  return Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
}

function isZero(bytes: Uint8Array): boolean {
  const length = Math.min(bytes.length, BLOCK_BYTES);
  for (let i = 0; i < length; i++) if (bytes[i] !== 0) return false;
  return true;
}

function withoutZeros(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}
