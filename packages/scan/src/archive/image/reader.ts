import { type ByteSource, LimitedInput, MeteredInput } from '../byte-source.ts';
import type { ArchiveBudget } from '../context.ts';
import { EntryContent } from '../entry-content.ts';
import { admitName } from '../entry-name.ts';
import type { ArchiveEntry, ArchiveReader } from '../port.ts';
import { BytesUnpacker, Damage, LazyUnpacker, StoredUnpacker, type Unpacker } from '../unpack/unpacker.ts';
import { configText } from './documents.ts';
import type { ImagePart, ImagePlan } from './plan.ts';
import { TarImageFiles, type TarFile } from './tar-files.ts';

/**
 * Opens a tar archive of container images (`docker save`, or an OCI layout); null if it is another tar archive, or
 * cannot be read at any offset.
 */
export async function openImageArchive(
  source: ByteSource,
  budget: ArchiveBudget,
  close: () => Promise<void>,
): Promise<ArchiveReader | null> {
  if (!source.canSeek) return null;
  const files = await TarImageFiles.open(source, budget.context);
  const plan = files === null ? null : await files.plan();
  source.seek(0);
  if (files === null || plan === null) return null;
  for (const problem of files.problems) budget.report(problem);
  return new ImageArchive({ source, budget, files, plan, close });
}

interface ImageArchiveOptions {
  source: ByteSource;
  budget: ArchiveBudget;
  files: TarImageFiles;
  plan: ImagePlan;
  close(): Promise<void>;
}

/** Copies of parts of the configuration, for old versions of Docker. */
const OLD_COPY = /^[0-9a-f]{64}\/(?:json|VERSION)$/;

/** Reads the parts of the images in an archive, then its other files. */
class ImageArchive implements ArchiveReader {
  readonly format = 'tar';
  readonly #options: ImageArchiveOptions;
  readonly #parts: Iterator<ImagePart>;
  readonly #others: Iterator<TarFile>;

  constructor(options: ImageArchiveOptions) {
    this.#options = options;
    const { files, plan } = options;
    this.#parts = plan.parts[Symbol.iterator]();
    const known = new Set([...plan.known].flatMap((locator) => files.file(locator) ?? []));
    const isOther = (file: TarFile): boolean => file.kind === 'file' && !known.has(file) && !OLD_COPY.test(file.name);
    this.#others = files.files.filter(isOther)[Symbol.iterator]();
  }

  next(): Promise<ArchiveEntry | null> {
    // A fault of a budget rejects, like that of any archive.
    return Promise.resolve().then(() => this.#next());
  }

  #next(): ArchiveEntry | null {
    for (let part = this.#parts.next(); part.done !== true; part = this.#parts.next()) {
      // A link in the place of a layer leads to another one.
      if (this.#options.files.file(part.value.blob.locator)?.kind !== 'link') return this.#partEntry(part.value);
    }
    const other = this.#others.next();
    return other.done === true ? null : this.#fileEntry(other.value.name, other.value);
  }

  #partEntry({ name, blob, text }: ImagePart): ArchiveEntry {
    const { files } = this.#options;
    const file = files.file(blob.locator);
    if (text === null) return this.#fileEntry(name, file);
    return this.#entry(name, -1, async () => {
      const bytes = await files.read(blob);
      if (bytes === null) throw new Damage('the configuration cannot be read');
      this.#options.budget.consume(bytes.length);
      return new BytesUnpacker(configText(bytes, text));
    });
  }

  /** @param file null if the archive lacks it */
  #fileEntry(name: string, file: TarFile | null): ArchiveEntry {
    const { source, budget } = this.#options;
    return this.#entry(name, file?.size ?? -1, () => {
      if (file === null) throw new Damage('the archive lacks it');
      source.seek(file.offset);
      const input = new MeteredInput(new LimitedInput(source, file.size), budget);
      return Promise.resolve(new StoredUnpacker(input, file.size));
    });
  }

  #entry(shown: string, size: number, make: () => Promise<Unpacker>): ArchiveEntry {
    const { budget } = this.#options;
    budget.countEntry();
    const { name, path } = admitName(budget, Buffer.from(shown), 'latin1');
    const { entryBytesMax } = budget.limits;
    const open = (): EntryContent =>
      new EntryContent({ path, size, unpacker: new LazyUnpacker(make), budget, entryBytesMax });
    return { name, kind: 'file', size_hint: size, open };
  }

  close(): Promise<void> {
    return this.#options.close();
  }
}
