import { ObjectFault, type ObjectReader } from '../source/port.ts';
import { ByteSource, MeteredInput } from './byte-source.ts';
import type { ArchiveBudget } from './context.ts';
import { EntryContent, entryBytesFault } from './entry-content.ts';
import { admitName } from './entry-name.ts';
import type { ArchiveEntry, ArchiveReader, CompressedFormat } from './port.ts';
import { BLOCK_BYTES, isTarHead } from './tar/header.ts';
import { TarReader } from './tar/reader.ts';
import { createUnpacker } from './compressed.ts';
import { gzipName } from './unpack/gzip.ts';

/**
 * Opens a compressed file as an archive of one entry or, if it contains a tar file, as that tar file: one archive, not
 * two.
 */
export async function openCompressed(
  format: CompressedFormat,
  source: ByteSource,
  budget: ArchiveBudget,
  closeSource: () => Promise<void>,
): Promise<ArchiveReader> {
  const { path } = budget.context;
  const head = await source.peek(1024);
  const stated = format === 'gzip' ? gzipName(head) : null;
  const rawName = stated ?? Buffer.from(nameWithoutEnding(path));
  const unpacker = createUnpacker(format, new MeteredInput(source, budget));
  const options = { path, size: -1, unpacker, budget, entryBytesMax: Infinity };
  const content = new EntryContent(options);
  const unpacked = new ByteSource(content);
  const close = async (): Promise<void> => {
    const remark = unpacker.remark?.();
    if (remark !== undefined) budget.report({ ...remark, path });
    content.close();
    unpacked.close();
    await closeSource();
  };
  try {
    if (await startsTar(unpacked)) return new TarReader({ source: unpacked, budget, charged: true, close });
  } catch (error) {
    content.close();
    unpacked.close();
    throw error;
  }
  return new CompressedFile(format, rawName, unpacked, budget, close);
}

/**
 * Returns true if the data starts a tar file. A fault within the first block recurs when that is read; one before it
 * is the archive's.
 */
async function startsTar(unpacked: ByteSource): Promise<boolean> {
  try {
    return isTarHead(await unpacked.peek(BLOCK_BYTES));
  } catch (error) {
    if (error instanceof ObjectFault && error.problem.extent !== 'skipped') return false;
    throw error;
  }
}

class CompressedFile implements ArchiveReader {
  readonly format: CompressedFormat;
  readonly close: () => Promise<void>;
  readonly #rawName: Uint8Array;
  readonly #unpacked: ByteSource;
  readonly #budget: ArchiveBudget;
  #isGiven = false;

  constructor(
    format: CompressedFormat,
    rawName: Uint8Array,
    unpacked: ByteSource,
    budget: ArchiveBudget,
    close: () => Promise<void>,
  ) {
    this.format = format;
    this.close = close;
    this.#rawName = rawName;
    this.#unpacked = unpacked;
    this.#budget = budget;
  }

  next(): Promise<ArchiveEntry | null> {
    if (this.#isGiven) return Promise.resolve(null);
    this.#isGiven = true;
    this.#budget.countEntry(true);
    const { name, path } = admitName(this.#budget, this.#rawName, 'latin1');
    return Promise.resolve({ name, kind: 'file', size_hint: -1, open: () => this.#open(path) });
  }

  #open(path: string): ObjectReader {
    return new UnpackedFile(this.#unpacked, path, this.#budget.limits.entryBytesMax);
  }
}

/** Reads the content without a copy of its own; it is charged where it is unpacked. */
class UnpackedFile implements ObjectReader {
  readonly size = -1;
  readonly access = 'carry';
  readonly #unpacked: ByteSource;
  readonly #path: string;
  readonly #bytesMax: number;
  #read = 0;

  constructor(unpacked: ByteSource, path: string, bytesMax: number) {
    this.#unpacked = unpacked;
    this.#path = path;
    this.#bytesMax = bytesMax;
  }

  async read(target: Uint8Array, start: number, length: number): Promise<number> {
    const remaining = this.#bytesMax - this.#read;
    if (remaining === 0 && (await this.#unpacked.peek(1)).length > 0) throw entryBytesFault(this.#path, this.#bytesMax);
    const count = await this.#unpacked.readInto(target, start, Math.min(length, remaining));
    this.#read += count;
    return count;
  }

  close(): undefined {
    return undefined;
  }
}

/** Returns the last part of a path without its compression suffix; `data` if nothing remains. */
function nameWithoutEnding(path: string): string {
  const base = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('!')) + 1);
  const name = base
    .replace(/\.(?:tgz|tbz2?|txz|tzst|tlz)$/i, '.tar')
    .replace(/\.(?:gz|bz2|xz|zst|zstd|lz4|lzma|Z)$/i, '');
  return name === '' ? 'data' : name;
}
