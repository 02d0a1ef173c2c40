import { crc32 } from 'node:zlib';

import { ByteSource, type Input, LimitedInput, MeteredInput } from '../byte-source.ts';
import { bytesText, type ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import { copyToMemory, MEMORY_BYTES_MAX } from '../memory-copy.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { ObjectFault } from '../../source/port.ts';
import { Damage, LazyUnpacker, StoredUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { isFilter, unpackerOf } from './coders.ts';
import { type Folder, parseHeader, type SevenZipFile } from './header.ts';

const SIGNATURE_BYTES = 32;
/** Bytes of a header; an entry takes some 50 of them. */
const HEADER_BYTES_MAX = 32 * 1024 * 1024;
/** A header may be compressed, and its description again. */
const HEADER_LEVELS_MAX = 4;

/** Opens a 7z archive, whose header is at its end: within another archive, it is kept in memory. */
export async function openSevenZip(
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader> {
  const { path } = budget.context;
  const refusal = (code: 'unsupported_archive' | 'malformed_archive' | 'encrypted', message: string): ObjectFault =>
    new ObjectFault({ code, path, message, extent: 'skipped' });
  const seekable = source.canSeek ? source : (await copyToMemory(source)).source;
  if (seekable === null) {
    const message = `7z archives within other archives are opened up to ${bytesText(MEMORY_BYTES_MAX)}: their directory is at the end`;
    throw refusal('unsupported_archive', message);
  }
  try {
    const { folders, files } = await readHeader(seekable);
    return new SevenZipReader({ source: seekable, budget, folders, files, close });
  } catch (error) {
    if (error instanceof Damage) throw refusal(error.code as 'malformed_archive', error.message);
    throw error;
  }
}

async function readHeader(source: ByteSource): Promise<{ folders: Folder[]; files: SevenZipFile[] }> {
  const head = Buffer.from((await source.peek(SIGNATURE_BYTES)).slice(0, SIGNATURE_BYTES));
  if (head.length < SIGNATURE_BYTES || head.readUInt32LE(8) !== crc32(head.subarray(12)))
    throw new Damage('the header of the archive is damaged');
  const [offset, size] = [Number(head.readBigUInt64LE(12)), Number(head.readBigUInt64LE(20))];
  if (size === 0) return { folders: [], files: [] };
  if (size > HEADER_BYTES_MAX) throw new Damage(`the header of the archive has ${size} bytes, too many to read`);
  if (source.reader.size >= 0 && SIGNATURE_BYTES + offset + size > source.reader.size)
    throw new Damage('the archive ends before its directory: it is truncated, or the first volume of a split archive');
  source.seek(SIGNATURE_BYTES + offset);
  let bytes = await collected(new StoredUnpacker(new LimitedInput(source, size), size), size);
  if (crc32(bytes) !== head.readUInt32LE(28)) throw new Damage('the header of the archive is damaged');
  for (let level = 0; level < HEADER_LEVELS_MAX; level++) {
    const { folders, files } = parseHeader(bytes);
    if (files !== null) return { folders, files };
    const [folder] = folders;
    const unpacked = folder?.sizes.at(-1) ?? Infinity;
    if (folder === undefined || unpacked > HEADER_BYTES_MAX) throw new Damage('the header of the archive is damaged');
    source.seek(SIGNATURE_BYTES + folder.packed_at);
    bytes = await collected(unpackerOf(new LimitedInput(source, folder.packed_size), folder), unpacked);
  }
  throw new Damage('the header of the archive is compressed too often');
}

/** Returns all that an unpacker delivers, which must be `length` bytes. */
async function collected(unpacker: Unpacker, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let total = 0;
  try {
    for (let piece = await unpacker.next(); piece !== null && total < length; piece = await unpacker.next()) {
      pieces.push(Buffer.from(piece));
      total += piece.length;
    }
  } finally {
    unpacker.close();
  }
  if (total !== length) throw new Damage('the header of the archive is damaged');
  return Buffer.concat(pieces);
}

interface SevenZipOptions {
  source: ByteSource;
  budget: ArchiveBudget;
  folders: readonly Folder[];
  files: readonly SevenZipFile[];
  close(): Promise<void>;
}

/** A folder while its entries are read one after another. */
interface OpenFolder {
  content: EntryContent;
  unpacked: ByteSource;
}

/** Reads the entries of a 7z archive, folder by folder. */
class SevenZipReader implements ArchiveReader {
  readonly format = '7z';
  readonly #options: SevenZipOptions;
  #file = 0;
  #folder = 0;
  /** Number of the next entry in its folder, and where it begins. */
  #entry = 0;
  #offset = 0;
  #open: OpenFolder | null = null;

  constructor(options: SevenZipOptions) {
    this.#options = options;
  }

  next(): Promise<ArchiveEntry | null> {
    return Promise.resolve().then(() => this.#next());
  }

  #next(): ArchiveEntry | null {
    const { files, budget } = this.#options;
    const file = files[this.#file++];
    if (file === undefined) return null;
    // What a folder unpacks is charged as it is unpacked.
    budget.countEntry(this.#open !== null);
    const { name, path } = admitName(budget, Buffer.from(file.name), 'latin1');
    if (!file.has_stream) {
      const open = (): EntryContent => this.#contentOf(path, 0, () => Promise.resolve(new StoredUnpacker(NOTHING, 0)));
      return { name, kind: file.is_directory ? 'directory' : 'file', size_hint: 0, open };
    }
    const place = this.#nextPlace();
    const size = place?.size ?? -1;
    const open = (): EntryContent =>
      this.#contentOf(path, size, () => this.#unpack(place), place?.isFiltered === true ? undefined : place?.checksum);
    return { name, kind: 'file', size_hint: size, open };
  }

  #contentOf(path: string, size: number, make: () => Promise<Unpacker>, crc?: number): EntryContent {
    const { entryBytesMax } = this.#options.budget.limits;
    const check = crc === undefined ? {} : { crc };
    return new EntryContent({ path, size, unpacker: new LazyUnpacker(make), budget: null, entryBytesMax, ...check });
  }

  /** Returns the place of the next entry with content; null if the folders have no more. */
  #nextPlace(): Place | null {
    const { folders } = this.#options;
    for (let folder = folders[this.#folder]; folder !== undefined; folder = folders[this.#folder]) {
      const size = folder.entries[this.#entry];
      if (size !== undefined) {
        const checksum = folder.checksums[this.#entry];
        const isFiltered = folder.coders?.some(isFilter) ?? false;
        const place = { folder: this.#folder, offset: this.#offset, size, checksum, isFiltered };
        this.#entry += 1;
        this.#offset += size;
        return place;
      }
      this.#folder += 1;
      this.#entry = this.#offset = 0;
    }
    return null;
  }

  async #unpack(place: Place | null): Promise<Unpacker> {
    if (place === null) throw new Damage('the archive has no data for the entry');
    const { unpacked } = this.#openFolder(place.folder);
    const behind = place.offset - unpacked.position;
    if (behind > 0 && !(await unpacked.skip(behind))) throw new Damage('the data ends before the entry');
    return new StoredUnpacker(new LimitedInput(unpacked, place.size), place.size);
  }

  #folderIndex = -1;

  #openFolder(index: number): OpenFolder {
    if (this.#open !== null && this.#folderIndex === index) return this.#open;
    this.#open?.content.close();
    this.#open = null;
    const { source, budget, folders } = this.#options;
    const folder = folders[index]!;
    source.seek(SIGNATURE_BYTES + folder.packed_at);
    const unpacker = unpackerOf(new MeteredInput(new LimitedInput(source, folder.packed_size), budget), folder);
    const { path } = budget.context;
    const content = new EntryContent({ path, size: -1, unpacker, budget, entryBytesMax: Infinity });
    this.#folderIndex = index;
    this.#open = { content, unpacked: new ByteSource(content) };
    return this.#open;
  }

  close(): Promise<void> {
    this.#open?.content.close();
    this.#open = null;
    return this.#options.close();
  }
}

interface Place {
  folder: number;
  offset: number;
  size: number;
  checksum: number | undefined;
  isFiltered: boolean;
}

const NOTHING: Input = { peek: () => Promise.resolve(new Uint8Array(0)), consume: () => undefined };
