import { LimitedInput, MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import type { ObjectFault } from '../../source/port.ts';
import { StoredUnpacker } from '../unpack/unpacker.ts';

export interface CpioReaderOptions {
  source: ByteSource;
  budget: ArchiveBudget;
  /** True if the bytes read are already charged to the archive because they are being unpacked. */
  charged: boolean;
  close(): Promise<void>;
}

interface CpioHeader {
  mode: number;
  size: number;
  nameBytes: number;
  /** Bytes of the header, and what names and contents are padded to. */
  length: number;
  alignment: number;
}

const NEW_BYTES = 110;
const OLD_BYTES = 76;
/** Bytes of a name that are read. */
const NAME_BYTES_MAX = 64 * 1024;
const TRAILER = 'TRAILER!!!';

/** Returns true for the beginning of a cpio archive with numbers as text: the formats newc, crc and odc. */
export function isCpioHead(head: Uint8Array): boolean {
  return headerOf(head) !== null;
}

/**
 * Reads cpio archives, including several one after another, as in an initial RAM disk. What follows them, such as a
 * compressed one, is an entry of its own.
 */
export class CpioReader implements ArchiveReader {
  readonly format = 'cpio';
  readonly #options: CpioReaderOptions;
  /** Where the content of the last entry ends, and where the next header begins. */
  #contentEnd = 0;
  #next: number;
  #base: number;
  #done = false;

  constructor(options: CpioReaderOptions) {
    this.#options = options;
    this.#base = this.#next = options.source.position;
  }

  async next(): Promise<ArchiveEntry | null> {
    const { source } = this.#options;
    while (!this.#done) {
      const behind = this.#next - source.position;
      const isThere = behind <= 0 || (await source.skip(behind));
      if (!isThere && this.#contentEnd > source.position) throw this.#damage('the archive ends within an entry');
      const head = await source.peek(NEW_BYTES);
      if (head.length === 0) throw this.#damage('the archive has no end marker; later entries may be missing');
      const header = headerOf(head);
      if (header === null) throw this.#damage(`the header at byte ${source.position} is damaged`);
      const name = await this.#readName(header);
      if (name.toString('latin1') !== TRAILER) return this.#entryOf(header, name);
      const rest = await this.#passTrailer();
      if (rest !== null) return rest;
    }
    return null;
  }

  async #readName({ length, nameBytes, alignment }: CpioHeader): Promise<Buffer> {
    const { source } = this.#options;
    source.consume(length);
    const shown = Math.min(nameBytes, NAME_BYTES_MAX);
    const chunk = await source.peek(shown);
    if (chunk.length < shown) throw this.#damage("the archive ends within an entry's name");
    const name = Buffer.from(chunk.subarray(0, shown));
    await source.skip(nameBytes);
    await source.skip(padding(source.position - this.#base, alignment));
    const end = name.indexOf(0);
    return end < 0 ? name : name.subarray(0, end);
  }

  #entryOf({ mode, size, alignment }: CpioHeader, rawName: Buffer): ArchiveEntry {
    const { source } = this.#options;
    this.#contentEnd = source.position + size;
    this.#next = this.#contentEnd + padding(this.#contentEnd - this.#base, alignment);
    return this.#entry(rawName, kindOf(mode), size);
  }

  #entry(rawName: Buffer, kind: ArchiveEntry['kind'], size: number): ArchiveEntry {
    const { source, budget, charged } = this.#options;
    budget.countEntry(charged);
    const { name, path } = admitName(budget, rawName, 'latin1');
    const { entryBytesMax } = budget.limits;
    const open = (): EntryContent => {
      const limited = size === Infinity ? source : new LimitedInput(source, size);
      const unpacker = new StoredUnpacker(charged ? limited : new MeteredInput(limited, budget), size);
      const stated = size === Infinity ? -1 : size;
      return new EntryContent({ path, size: stated, unpacker, budget: charged ? null : budget, entryBytesMax });
    };
    return { name, kind, size_hint: size === Infinity ? -1 : size, open };
  }

  /** Returns an entry for what follows the last archive; null if there is nothing, or another one. */
  async #passTrailer(): Promise<ArchiveEntry | null> {
    const { source } = this.#options;
    for (let head = await source.peek(NEW_BYTES); ; head = await source.peek(NEW_BYTES)) {
      const zeros = head.findIndex((byte) => byte !== 0);
      source.consume(zeros < 0 ? head.length : zeros);
      if (zeros >= 0) break;
      if (head.length === 0) {
        this.#done = true;
        return null;
      }
    }
    this.#base = this.#next = source.position;
    if (headerOf(await source.peek(NEW_BYTES)) !== null) return null;
    this.#done = true;
    return this.#entry(Buffer.from('appended'), 'file', Infinity);
  }

  #damage(message: string): ObjectFault {
    this.#done = true;
    return this.#options.budget.damage(message);
  }

  close(): Promise<void> {
    this.#done = true;
    return this.#options.close();
  }
}

function padding(position: number, alignment: number): number {
  return (alignment - (position % alignment)) % alignment;
}

function headerOf(head: Uint8Array): CpioHeader | null {
  if (head[0] !== 0x30) return null;
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, NEW_BYTES)).toString('latin1');
  if (/^07070[12][0-9a-f]{104}/i.test(text)) {
    const field = (index: number): number => parseInt(text.slice(6 + 8 * index, 14 + 8 * index), 16);
    return { mode: field(1), size: field(6), nameBytes: field(11), length: NEW_BYTES, alignment: 4 };
  }
  if (!/^070707[0-7]{70}/.test(text)) return null;
  const field = (from: number, to: number): number => parseInt(text.slice(from, to), 8);
  return { mode: field(18, 24), size: field(65, 76), nameBytes: field(59, 65), length: OLD_BYTES, alignment: 1 };
}

function kindOf(mode: number): ArchiveEntry['kind'] {
  switch (mode & 0o170000) {
    case 0o040000:
      return 'directory';
    case 0o120000:
      return 'link';
    case 0o010000:
    case 0o020000:
    case 0o060000:
    case 0o140000:
      return 'special';
    default:
      return 'file';
  }
}
