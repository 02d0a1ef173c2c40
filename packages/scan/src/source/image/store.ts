import { createHash } from 'node:crypto';
import { join } from 'node:path';

import { RootBudget } from '../../archive/context.ts';
import { ByteSource } from '../../archive/byte-source.ts';
import { DETECT_BYTES, detectArchive } from '../../archive/detect.ts';
import { type ArchiveFormat, COMPRESSED_FORMATS } from '../../archive/port.ts';
import { DOCUMENT_BYTES_MAX, isDigest } from '../../archive/image/documents.ts';
import { type ChoosePlatforms, type ImageBlob, type ImageDocuments, ImagePlan } from '../../archive/image/plan.ts';
import { fileOf, TarImageFiles } from '../../archive/image/tar-files.ts';
import { SCAN_DEFAULTS } from '../../options.ts';
import { FileOpener } from '../file-opener.ts';
import { locatorOf } from '../byte-path.ts';
import { ObjectFault, type ObjectReader } from '../port.ts';
import { ReaderSection } from '../reader-section.ts';
import { readWhole } from './read-whole.ts';

export interface PlannedImage {
  /** Identifies what the name stands for, so that a resumed scan reads the same. */
  version: string;
  plan: ImagePlan;
}

/** Where an image is. */
export interface ImageStore {
  /**
   * Reads the documents of the image.
   * @param version as returned before; null for what the name stands for now
   * @throws Error with the remedy if there is no such image
   */
  plan(choose: ChoosePlatforms | null, version: string | null): Promise<PlannedImage>;
  /** Rejects with `ObjectFault` if the blob cannot be read. */
  open(blob: ImageBlob, path: string): ObjectReader | Promise<ObjectReader>;
  close(): void | Promise<void>;
}

const FILES = new FileOpener({ follow_links: true, isNamed: () => false });

/** An OCI layout in a directory. */
export class LayoutStore implements ImageStore, ImageDocuments {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async plan(choose: ChoosePlatforms | null, version: string | null): Promise<PlannedImage> {
    const bytes = await this.#index();
    const plan = new ImagePlan(this, choose ?? undefined);
    if (bytes === null || !(await plan.addDocument(bytes)))
      throw new Error(`${this.#directory}: index.json lists no images; name a directory with an OCI layout`);
    return { version: unchanged(this.#directory, bytes, version), plan };
  }

  read(blob: ImageBlob): Promise<Uint8Array | null> {
    return documentOf(() => this.open(blob, blob.locator));
  }

  #index(): Promise<Uint8Array | null> {
    return documentOf(() => this.#openFile('index.json', this.#directory));
  }

  open({ locator }: ImageBlob, path: string): ObjectReader | Promise<ObjectReader> {
    if (!isDigest(locator)) throw new Error('image: the blobs of a layout are named by digests');
    return this.#openFile(fileOf(locator), path);
  }

  #openFile(name: string, path: string): ObjectReader | Promise<ObjectReader> {
    return FILES.open({ path, locator: locatorOf(join(this.#directory, name)) });
  }

  close(): void {
    // Readers close their own files.
  }
}

/** Returns a document; null if it is missing, too large or unreadable. */
async function documentOf(open: () => ObjectReader | Promise<ObjectReader>): Promise<Uint8Array | null> {
  try {
    return await readWhole(await open(), DOCUMENT_BYTES_MAX);
  } catch (error) {
    if (error instanceof ObjectFault) return null;
    throw error;
  }
}

/** An archive of `docker save`, or an OCI layout in a tar archive. */
export class TarStore implements ImageStore {
  readonly #path: string;
  #files: Promise<TarImageFiles> | null = null;
  #reader: ObjectReader | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  async plan(choose: ChoosePlatforms | null, version: string | null): Promise<PlannedImage> {
    const files = await this.#list();
    const plan = await files.plan(choose ?? undefined);
    if (plan === null) throw await this.#refusal();
    const parts = JSON.stringify([plan.parts, files.files]);
    return { version: unchanged(this.#path, Buffer.from(parts), version), plan };
  }

  async open({ locator }: ImageBlob, path: string): Promise<ObjectReader> {
    const file = (await this.#list()).file(locator);
    if (file === null || file.kind === 'link')
      throw new ObjectFault({ code: 'vanished', path, message: 'the archive lacks it', extent: 'skipped' });
    return new ReaderSection(await this.#openFile(path), file.offset, file.size);
  }

  #list(): Promise<TarImageFiles> {
    this.#files ??= this.#listOnce();
    return this.#files;
  }

  /** The files are found with a reader of its own, which stays open for the documents. */
  async #listOnce(): Promise<TarImageFiles> {
    const reader = (this.#reader = await this.#openFile(this.#path));
    if (reader.access !== 'range') throw await this.#refusal();
    // Every layer has its own limits; the archive around them needs none but the number of its files.
    const options = { ...SCAN_DEFAULTS.archives, entriesMax: FILES_MAX };
    const context = { path: this.#path, depth: 0, options, root: new RootBudget(options), report: () => undefined };
    const files = await TarImageFiles.open(new ByteSource(reader), context, true);
    if (files === null) throw await this.#refusal();
    return files;
  }

  #openFile(path: string): ObjectReader | Promise<ObjectReader> {
    return FILES.open({ path, locator: locatorOf(this.#path) });
  }

  async #refusal(): Promise<Error> {
    const format = await this.#format();
    return new Error(
      COMPRESSED_FORMATS.some((each) => each === format)
        ? `${this.#path} is compressed with ${format}; unpack it first, or scan it as a path, without --image`
        : `${this.#path} is not an archive of container images; name one of docker save, or an OCI layout`,
    );
  }

  async #format(): Promise<ArchiveFormat | null> {
    const head = new Uint8Array(DETECT_BYTES);
    const length = (await this.#reader?.read(head, 0, head.length, 0)) ?? 0;
    return detectArchive(this.#path, head.subarray(0, length));
  }

  async close(): Promise<void> {
    await this.#reader?.close();
    this.#reader = null;
  }
}

const FILES_MAX = 65_536;

/** Returns the version of a local image; throws if it is another than that of an interrupted scan. */
function unchanged(path: string, document: Uint8Array, before: string | null): string {
  const version = `sha256:${createHash('sha256').update(document).digest('hex')}`;
  if (before === null || before === version) return version;
  throw new Error(`${path} has changed since the scan was interrupted; remove the state file to start over`);
}
