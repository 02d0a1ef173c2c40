import { ArchiveBudget, type ArchiveContext } from '../context.ts';
import type { ByteSource } from '../byte-source.ts';
import type { ArchiveEntry } from '../port.ts';
import type { Problem } from '../../result.ts';
import { ObjectFault } from '../../source/port.ts';
import { TarReader } from '../tar/reader.ts';
import { DOCUMENT_BYTES_MAX } from './documents.ts';
import { type ChoosePlatforms, type ImageBlob, type ImageDocuments, ImagePlan } from './plan.ts';

/** A file in a tar archive. */
export interface TarFile {
  name: string;
  /** Where its content begins. */
  offset: number;
  size: number;
  kind: ArchiveEntry['kind'];
}

/**
 * Files that archives of images begin with, of Docker, Podman and tools that build or copy images (crane, Kaniko, Jib);
 * other archives are not searched for an image.
 */
const FIRST_FILE =
  /^(?:blobs\/.*|oci-layout|index\.json|manifest\.json|config\.json|repositories|(?:sha256:)?[0-9a-f]{64}(?:\.tar(?:\.gz)?|\.json|\/.*)?)$/;

/** The files of a tar archive of images, found by their headers alone; read at any offset. */
export class TarImageFiles implements ImageDocuments {
  readonly files: readonly TarFile[];
  /** What is wrong with the archive. */
  readonly problems: readonly Problem[];
  readonly #byName: ReadonlyMap<string, TarFile>;
  readonly #source: ByteSource;

  private constructor(source: ByteSource, files: readonly TarFile[], problems: readonly Problem[]) {
    this.#source = source;
    this.files = files;
    this.problems = problems;
    // Of several files of one name, programs use the last.
    this.#byName = new Map(files.map((file) => [file.name, file]));
  }

  /**
   * Lists the files of an archive that may contain images; null if it does not begin like one, or has more entries than
   * permitted. A damaged archive is listed as far as it can be read.
   *
   * @param isNamed whether it was named as an archive of images, and so may begin with any file
   */
  static async open(source: ByteSource, context: ArchiveContext, isNamed = false): Promise<TarImageFiles | null> {
    const problems: Problem[] = [];
    const report = (problem: Problem): void => {
      if (problem.code === 'malformed_archive') problems.push(problem);
    };
    const budget = new ArchiveBudget({ ...context, report });
    const reader = new TarReader({ source, budget, charged: true, close: () => Promise.resolve() });
    const files: TarFile[] = [];
    let isChosen = isNamed;
    try {
      for (let entry = await reader.next(); entry !== null; entry = await reader.next()) {
        const name = entry.name.replace(/^\.\//, '');
        // The first entry may be the directory itself.
        if (!isChosen && name !== '' && !FIRST_FILE.test(name)) return null;
        isChosen ||= name !== '';
        files.push({ name, offset: source.position, size: entry.size_hint, kind: entry.kind });
      }
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      if (error.problem.code !== 'malformed_archive') return null;
      problems.push(error.problem);
    }
    return new TarImageFiles(source, files, problems);
  }

  /** Returns the parts of the images; null if there are none. */
  async plan(choose?: ChoosePlatforms): Promise<ImagePlan | null> {
    const plan = new ImagePlan(this, choose);
    const saved = await this.read({ locator: 'manifest.json', size: -1 });
    if (saved !== null && (await plan.addSaved(saved))) return plan;
    const index = await this.read({ locator: 'index.json', size: -1 });
    return index !== null && this.#byName.has('oci-layout') && (await plan.addDocument(index)) ? plan : null;
  }

  /** Returns the file of a digest, or of a name. */
  file(locator: string): TarFile | null {
    return this.#byName.get(locator) ?? this.#byName.get(fileOf(locator)) ?? null;
  }

  async read({ locator }: ImageBlob): Promise<Uint8Array | null> {
    const file = this.file(locator);
    if (file === null || file.size > DOCUMENT_BYTES_MAX) return null;
    const bytes = new Uint8Array(file.size);
    this.#source.seek(file.offset);
    for (let read = 0; read < bytes.length;) {
      const count = await this.#source.readInto(bytes, read, bytes.length - read);
      if (count === 0) return null;
      read += count;
    }
    return bytes;
  }
}

/** Returns the name of a digest's file in a layout. */
export function fileOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}
