import { LimitedInput, MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import type { ObjectFault } from '../../source/port.ts';
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
  /** True if the bytes read are already charged to the archive because they are being unpacked. */
  charged: boolean;
  /** Closes the underlying input. */
  close(): Promise<void>;
}

/** Bytes of an extended header that are read. */
const EXTENDED_BYTES_MAX = 64 * 1024;
/** Extended headers that one entry may have. */
const EXTENSIONS_MAX = 16;

/** Reads ustar, pax, GNU and old tar, including several concatenated archives. */
export class TarReader implements ArchiveReader {
  readonly format = 'tar';
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  readonly #options: TarReaderOptions;
  /** The end of the last entry's content, and the offset of the next header. */
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
        if (extensions > 0) this.#report('the archive ends after an extended header, before its entry');
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
        entryBytesMax: this.#budget.limits.entryBytesMax,
      });
    };
    return { name, kind: kindOf(header, name, size), size_hint: size, open };
  }

  /** Returns the bytes of content after a header: not all types that declare a size have content. */
  async #contentSize(header: TarHeader, size: number, pax: PaxRecords): Promise<number> {
    if (header.type === 'S') await this.#passSparseMap(header);
    if ('23456'.includes(header.type)) return 0;
    // For a hard link, old programs declare the size of its target, pax that of the content that follows.
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

  /** Returns the next header, skipping blocks of zeros and damaged headers; null at the end. */
  async #readHeader(): Promise<TarHeader | null> {
    const source = this.#source;
    let zeros = 0;
    let isDamaged = false;
    for (;;) {
      const block = await source.peek(BLOCK_BYTES);
      if (block.length < BLOCK_BYTES) {
        if (block.length === 0 || isZero(block)) {
          // One of the two blocks of zeros at the end suffices: some programs write no more.
          if (zeros === 0) this.#report('the archive has no end marker; later entries may be missing');
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
        // Two blocks of zeros are followed by another archive or by unrelated data.
        if (zeros > 1 && !hasTarMagic(block)) {
          this.#report('data after the end of the archive was ignored');
          return null;
        }
        if (!isDamaged)
          this.#report(`the header at byte ${source.position} is damaged; reading resumed at the next intact header`);
        isDamaged = true;
      }
      source.consume(BLOCK_BYTES);
    }
  }

  /** Returns the content of an extended header, up to the limit. */
  async #readExtension(size: number): Promise<Uint8Array> {
    const source = this.#source;
    if (Number.isNaN(size)) throw this.#damage(SIZE_MESSAGE);
    const length = Math.min(size, EXTENDED_BYTES_MAX);
    const chunk = await source.peek(length);
    if (chunk.length < length) throw this.#damage('the archive ends within an extended header');
    const body = chunk.slice(0, length);
    if (!(await source.skip(size))) throw this.#damage('the archive ends within an extended header');
    await source.skip(paddedSize(size) - size);
    if (size > length) this.#report(`an extended header has ${size} bytes; only the first ${length} were read`);
    return body;
  }

  async #passContent(): Promise<void> {
    const { position } = this.#source;
    if (this.#contentEnd > position && !(await this.#source.skip(this.#contentEnd - position)))
      throw this.#damage('the archive ends within an entry');
    // An archive truncated in the padding after its last entry misses nothing.
    if (this.#nextHeader > this.#source.position) await this.#source.skip(this.#nextHeader - this.#source.position);
  }

  #report(message: string): void {
    const { path } = this.#budget.context;
    this.#budget.report({ code: 'malformed_archive', path, message, extent: 'partial' });
  }

  #damage(message: string): ObjectFault {
    this.#done = true;
    return this.#budget.damage(message);
  }

  close(): Promise<void> {
    this.#done = true;
    return this.#options.close();
  }
}

const SIZE_MESSAGE = 'an entry of the archive declares an invalid size';

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
