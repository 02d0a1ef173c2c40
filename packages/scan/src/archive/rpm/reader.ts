import { ByteSource, LimitedInput, MeteredInput } from '../byte-source.ts';
import { createUnpacker } from '../compressed.ts';
import type { ArchiveBudget } from '../context.ts';
import { CpioReader } from '../cpio/reader.ts';
import { detectArchive } from '../detect.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import { type ArchiveEntry, type ArchiveReader, COMPRESSED_FORMATS } from '../port.ts';
import { Damage, StoredUnpacker, takeBytes } from '../unpack/unpacker.ts';

const LEAD_BYTES = 96;
const INTRO_BYTES = 16;
const INDEX_BYTES = 16;
/** Bytes of a header; that of a large package has some MiB. */
const HEADER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Reads an RPM package: its header, which contains the scripts that run at installation, and the files of its payload.
 */
export class RpmReader implements ArchiveReader {
  readonly format = 'rpm';
  readonly #source: ByteSource;
  readonly #budget: ArchiveBudget;
  readonly #close: () => Promise<void>;
  #headerEnd = 0;
  #content: EntryContent | null = null;
  #payload: CpioReader | null = null;

  constructor(source: ByteSource, budget: ArchiveBudget, close: () => Promise<void>) {
    this.#source = source;
    this.#budget = budget;
    this.#close = close;
  }

  async next(): Promise<ArchiveEntry | null> {
    try {
      if (this.#headerEnd === 0) return await this.#readHeader();
      this.#payload ??= await this.#openPayload();
    } catch (error) {
      if (error instanceof Damage) throw this.#budget.damage(error.message);
      throw error;
    }
    return await this.#payload.next();
  }

  async #readHeader(): Promise<ArchiveEntry> {
    const source = this.#source;
    await takeBytes(source, LEAD_BYTES, 'the lead');
    const signatures = await this.#headerBytes();
    if (!(await source.skip(signatures + ((8 - (signatures % 8)) % 8))))
      throw new Damage('the package ends within its signatures');
    const size = await this.#headerBytes();
    this.#headerEnd = source.position + size;
    this.#budget.countEntry();
    const { name, path } = admitName(this.#budget, Buffer.from('header'), 'latin1');
    const { entryBytesMax } = this.#budget.limits;
    const open = (): EntryContent => {
      const unpacker = new StoredUnpacker(new MeteredInput(new LimitedInput(source, size), this.#budget), size);
      return new EntryContent({ path, size, unpacker, budget: this.#budget, entryBytesMax });
    };
    return { name, kind: 'file', size_hint: size, open };
  }

  /** Reads the beginning of a header and returns the bytes of its index and data. */
  async #headerBytes(): Promise<number> {
    const intro = Buffer.from(await takeBytes(this.#source, INTRO_BYTES, 'a header'));
    const bytes = intro.readUInt32BE(8) * INDEX_BYTES + intro.readUInt32BE(12);
    if (intro.readUInt32BE(0) !== 0x8eade801 || bytes > HEADER_BYTES_MAX)
      throw new Damage('the header of the package is damaged');
    return bytes;
  }

  async #openPayload(): Promise<CpioReader> {
    const source = this.#source;
    const behind = this.#headerEnd - source.position;
    if (behind > 0 && !(await source.skip(behind))) throw new Damage('the package ends within its header');
    const head = await source.peek(16);
    const format = COMPRESSED_FORMATS.find((each) => each === detectArchive('', head)) ?? null;
    const { path } = this.#budget.context;
    const close = (): Promise<void> => Promise.resolve();
    if (format === null) return new CpioReader({ source, budget: this.#budget, charged: false, close });
    const unpacker = createUnpacker(format, new MeteredInput(source, this.#budget));
    this.#content = new EntryContent({ path, size: -1, unpacker, budget: this.#budget, entryBytesMax: Infinity });
    return new CpioReader({ source: new ByteSource(this.#content), budget: this.#budget, charged: true, close });
  }

  close(): Promise<void> {
    this.#content?.close();
    this.#content = null;
    return this.#close();
  }
}
