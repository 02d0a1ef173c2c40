import type { ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent, notice } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { ObjectFault } from '../../source/port.ts';
import { BytesUnpacker, Damage, LazyUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { BATCH_ENTRIES_MAX, EntryBatch } from './batch.ts';
import { unpackEntry } from './content.ts';
import { DirectoryLines } from './directory-lines.ts';
import type { Directory } from './end-record.ts';
import { findOverlaps } from './overlaps.ts';
import {
  kindOf,
  LOCAL_BYTES,
  localLength,
  parseLocal,
  SIGNATURE,
  signatureOf,
  type DirectoryRecord,
} from './records.ts';

/** Reads a zip file with random access through its directory. */
export class ZipDirectoryReader implements ArchiveReader {
  readonly format = 'zip';
  readonly close: () => Promise<void>;
  readonly #budget: ArchiveBudget;
  readonly #directory: Directory;
  /** The directory is read independently of the entries. */
  readonly #lines: DirectoryLines;
  readonly #data: ByteSource;
  readonly #batch: EntryBatch;
  #overlapping: Uint8Array | null = null;

  constructor(source: ByteSource, directory: Directory, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#data = source;
    this.#lines = new DirectoryLines(source.reader, directory, budget.context.path);
    this.#batch = new EntryBatch(source, directory.shift);
    this.#directory = directory;
    this.#budget = budget;
    this.close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    const lines = this.#lines;
    this.#overlapping ??= await this.#checkOverlaps();
    for (;;) {
      const record = await lines.next();
      if (record === null) {
        this.#checkCount(lines.taken);
        return null;
      }
      this.#budget.countEntry();
      if (this.#overlapping[lines.taken - 1] !== 1) return this.#entryOf(record);
    }
  }

  #entryOf(record: DirectoryRecord): ArchiveEntry {
    const { name, path } = admitName(this.#budget, record.name, 'cp437');
    const open = (): EntryContent =>
      new EntryContent({
        path,
        size: record.size,
        unpacker: new LazyUnpacker(() => this.#unpack(record, path)),
        budget: this.#budget,
        entryBytesMax: this.#budget.limits.entryBytesMax,
        crc: record.crc,
        stated_size: record.size,
      });
    return { name, kind: kindOf(record, name), size_hint: record.size, open };
  }

  async #unpack(record: DirectoryRecord, path: string): Promise<Unpacker> {
    const together = await this.#batch.take(record, () => this.#lines.ahead(BATCH_ENTRIES_MAX));
    if (together !== null) {
      this.#budget.consume(record.packed_size);
      return new BytesUnpacker(together);
    }
    const source = this.#data;
    const offset = record.offset + this.#directory.shift;
    if (!(offset >= 0 && offset < source.reader.size))
      throw new Damage('the entry begins beyond the end of the archive');
    source.seek(offset);
    const head = await source.peek(LOCAL_BYTES);
    if (head.length < LOCAL_BYTES || signatureOf(head) !== SIGNATURE.local)
      throw new Damage("the entry's own header is not where the directory says");
    const length = localLength(head);
    const header = await source.peek(length);
    if (header.length < length) throw new Damage("the archive ends within the entry's header");
    this.#compare(record, header, path);
    source.consume(length);
    return unpackEntry(source, record, this.#budget);
  }

  /** The directory is authoritative; deviations in the entry's own header are reported. */
  #compare(record: DirectoryRecord, header: Uint8Array, path: string): void {
    const local = parseLocal(header);
    if (Buffer.compare(local.name, record.name) !== 0) {
      const other = Buffer.from(local.name).toString('utf8').slice(0, 200);
      this.#budget.report(notice(path, `the entry's own header gives it another name than the directory: ${other}`));
    } else if (local.method !== record.method) {
      this.#budget.report(notice(path, "the entry's own header names another method than the directory"));
    }
  }

  async #checkOverlaps(): Promise<Uint8Array> {
    const offsets: number[] = [];
    const ends: number[] = [];
    const lines = this.#lines;
    try {
      while (offsets.length <= this.#budget.limits.entriesMax) {
        const record = await lines.next();
        if (record === null) break;
        offsets.push(record.offset);
        ends.push(record.offset + LOCAL_BYTES + record.name.length + record.packed_size);
      }
    } catch (error) {
      // Damage recurs in its place once the entries before it are read.
      if (!(error instanceof ObjectFault)) throw error;
    }
    lines.restart();
    const overlapping = findOverlaps(offsets, ends);
    const count = overlapping.reduce((sum, mark) => sum + mark, 0);
    if (count > 0) {
      const message = `${count} of ${offsets.length} entries share their packed data with others; they were not read`;
      const { path } = this.#budget.context;
      const extent = count === offsets.length ? 'skipped' : 'partial';
      this.#budget.report({ code: 'overlapping_entries', path, message, extent });
    }
    return overlapping;
  }

  #checkCount(found: number): void {
    const { entries } = this.#directory;
    // Old programs count modulo 65,536.
    if (entries === found || entries === found % 65_536) return;
    const message = `the archive declares ${entries} entries, but its directory lists ${found}`;
    this.#budget.report(notice(this.#budget.context.path, message));
  }
}
