import { MeteredInput, type ByteSource } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import type { ObjectFault } from '../../source/port.ts';
import { Damage, LazyUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { ZlibUnpacker } from '../unpack/zlib.ts';
import { checkReadable, METHOD, unpackEntry } from './content.ts';
import { descriptorLength, OpenStoredUnpacker } from './descriptor.ts';
import {
  FLAG,
  LOCAL_BYTES,
  localLength,
  parseLocal,
  SIGNATURE,
  signatureOf,
  viewOf,
  type ZipRecord,
} from './records.ts';

const ENDS: readonly number[] = [SIGNATURE.directory, SIGNATURE.end, SIGNATURE.zip64_end, SIGNATURE.extra_data];

/** Reads a zip file front to back by its local headers; ignores the directory at its end. */
export class ZipStreamReader implements ArchiveReader {
  readonly format = 'zip';
  readonly close: () => Promise<void>;
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  /** The end of the last entry's data; null if only unpacking reveals it. */
  #dataEnd: number | null = 0;
  /** The compressed input of the last entry; null until it was unpacked to the end. */
  #unpackedTo: number | null = null;
  #dataStart = 0;
  #done = false;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    if (this.#done) return null;
    await this.#passData();
    const header = await this.#findHeader();
    if (header === null) {
      this.#done = true;
      return null;
    }
    this.#budget.countEntry();
    this.#source.consume(header.length);
    const isOpen = (header.flags & FLAG.descriptor) !== 0 && header.packed_size === 0;
    this.#dataStart = this.#source.position;
    this.#dataEnd = isOpen ? null : this.#dataStart + header.packed_size;
    this.#unpackedTo = null;
    return this.#entryOf(header, isOpen);
  }

  #entryOf(header: ZipRecord, isOpen: boolean): ArchiveEntry {
    const budget = this.#budget;
    const { name, path } = admitName(budget, header.name, 'cp437');
    const size = isOpen ? -1 : header.size;
    const open = (): EntryContent =>
      new EntryContent({
        path,
        size,
        unpacker: new LazyUnpacker(() =>
          isOpen ? this.#unpackOpen(header) : unpackEntry(this.#source, header, budget),
        ),
        budget,
        entryBytesMax: budget.limits.entryBytesMax,
        ...(isOpen ? {} : { crc: header.crc, stated_size: size }),
        onClose: (complete) => {
          if (complete && isOpen) this.#unpackedTo = this.#source.position - this.#dataStart;
        },
      });
    return { name, kind: name.endsWith('/') && size <= 0 ? 'directory' : 'file', size_hint: size, open };
  }

  /** Unpacks an entry that declares its length only after its data. */
  #unpackOpen(header: ZipRecord): Promise<Unpacker> {
    checkReadable(header);
    const input = new MeteredInput(this.#source, this.#budget);
    if (header.method === METHOD.deflate) return Promise.resolve(new ZlibUnpacker('deflate', input));
    if (header.method === METHOD.stored) return Promise.resolve(new OpenStoredUnpacker(input));
    throw new Damage(
      'the entry does not declare its length, so it cannot be read in a nested archive',
      'unsupported_archive',
    );
  }

  /** Skips to the end of the last entry's data, as far as known. */
  async #passData(): Promise<void> {
    const source = this.#source;
    if (this.#dataEnd !== null) {
      const left = this.#dataEnd - source.position;
      if (left > 0 && !(await source.skip(left))) throw this.#damage('the archive ends within an entry');
      // The data of an entry may be followed by a descriptor even so.
      const head = await source.peek(24);
      if (signatureOf(head) === SIGNATURE.descriptor && this.#dataEnd > 0)
        source.consume(Math.min(head.length, descriptorLength(head, this.#dataEnd - this.#dataStart)));
    } else if (this.#unpackedTo !== null) {
      const head = await source.peek(28);
      source.consume(Math.min(head.length, descriptorLength(head, this.#unpackedTo)));
    } else {
      await this.#search();
    }
  }

  /** Returns the complete header of the next entry; null at the end. */
  async #findHeader(): Promise<ZipRecord | null> {
    const source = this.#source;
    for (let isFirst = this.#budget.entries === 0; ; isFirst = false) {
      const head = await source.peek(LOCAL_BYTES);
      const signature = signatureOf(head);
      if (ENDS.includes(signature)) return null;
      if (isFirst && (signature === SIGNATURE.descriptor || signature === SIGNATURE.spanned)) {
        source.consume(4);
        continue;
      }
      if (head.length === 0) throw this.#damage('the archive ends without its directory');
      if (isLocal(head)) {
        const length = localLength(head);
        const header = await source.peek(length);
        if (header.length < length) throw this.#damage("the archive ends within an entry's header");
        return parseLocal(header);
      }
      if (!isFirst)
        this.#report(`the data at byte ${source.position} is not an entry; reading resumed at the next one`);
      if (head.length > 0) source.consume(1);
      if (!(await this.#search()))
        throw this.#damage(isFirst ? 'it contains no zip archive' : 'the archive ends without its directory');
    }
  }

  /** Skips to the next local header or to the directory; returns false if none follows. */
  async #search(): Promise<boolean> {
    const source = this.#source;
    for (;;) {
      const chunk = await source.peek(LOCAL_BYTES);
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      const at = bytes.indexOf('PK', 0, 'latin1');
      if (at < 0) {
        if (chunk.length === 0) return false;
        // The last byte may start a signature.
        source.consume(Math.max(1, chunk.length - 1));
        continue;
      }
      source.consume(at);
      const head = await source.peek(LOCAL_BYTES);
      if (isLocal(head) || ENDS.includes(signatureOf(head))) return true;
      source.consume(Math.min(2, head.length));
    }
  }

  #report(message: string): void {
    const { path } = this.#budget.context;
    this.#budget.report({ code: 'malformed_archive', path, message, extent: 'partial' });
  }

  #damage(message: string): ObjectFault {
    this.#done = true;
    return this.#budget.damage(message);
  }
}

/** Returns true for a local header: signature, known version, and a name. */
function isLocal(head: Uint8Array): boolean {
  if (head.length < LOCAL_BYTES || signatureOf(head) !== SIGNATURE.local) return false;
  return (viewOf(head).getUint16(4, true) & 0xff) < 100;
}
