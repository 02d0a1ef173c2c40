import {
  CONFIG_TEXTS,
  type ConfigText,
  contentsOf,
  type Descriptor,
  isDigest,
  layerDigestsOf,
  manifestsOf,
  objectOf,
  savedImagesOf,
} from './documents.ts';

/** A blob or a file that contains a part of an image. */
export interface ImageBlob {
  /** The digest of a blob, or the name of a file in an archive. */
  locator: string;
  /** Bytes; -1 if unknown. */
  size: number;
}

/** A part of an image that is scanned as an object. */
export interface ImagePart {
  /** `layer 3 (sha256:0123456789ab)`, `config (sha256:0123456789ab)/env`. */
  name: string;
  blob: ImageBlob;
  /** The part of a configuration; null for a layer. */
  text: ConfigText | null;
}

/** Where the documents of an image are. */
export interface ImageDocuments {
  /** Returns the document of a blob; null if it is missing or too large. */
  read(blob: ImageBlob): Promise<Uint8Array | null>;
}

/** Chooses among the images of an index. */
export type ChoosePlatforms = (images: readonly Descriptor[]) => readonly Descriptor[];

/** Images that are read from one index or archive, and levels of indexes. */
const IMAGES_MAX = 1000;
const INDEX_LEVELS_MAX = 4;
/** Digits of a digest that are shown: as many as other programs show. */
const DIGITS_SHOWN = 12;

/** Collects the parts of images; each blob once, however many images share it. */
export class ImagePlan {
  readonly parts: ImagePart[] = [];
  /** Blobs and files that are documents or parts. */
  readonly known = new Set<string>();
  /** What could not be read. */
  readonly missing: string[] = [];
  readonly #documents: ImageDocuments;
  readonly #choose: ChoosePlatforms;
  #images = 0;

  constructor(documents: ImageDocuments, choose: ChoosePlatforms = (images) => images) {
    this.#documents = documents;
    this.#choose = choose;
  }

  /** Adds the images of `manifest.json` in an archive of `docker save`. Returns false if it is another file. */
  async addSaved(manifest: Uint8Array): Promise<boolean> {
    const images = savedImagesOf(manifest);
    if (images === null) return false;
    for (const { config, layers } of images.slice(0, IMAGES_MAX)) {
      const document = await this.#documents.read({ locator: config, size: -1 });
      const digests = layerDigestsOf(document === null ? null : objectOf(document));
      if (document === null) this.missing.push(config);
      else this.#addConfig({ locator: config, size: document.length }, digestIn(config) ?? config);
      for (const [index, layer] of layers.entries()) {
        const digest = isDigest(digests[index]) ? digests[index] : (digestIn(layer) ?? layer);
        this.#addLayer({ locator: layer, size: -1 }, index, digest);
      }
    }
    return true;
  }

  /** Adds an image or all images of an index. Returns false if the document is neither. */
  async addDocument(bytes: Uint8Array, level = 0): Promise<boolean> {
    const document = objectOf(bytes);
    if (document === null || level > INDEX_LEVELS_MAX) return false;
    const images = manifestsOf(document);
    if (images !== null) {
      for (const image of level === 0 || images.some(({ platform }) => platform !== null)
        ? this.#choose(images)
        : images)
        await this.#addImage(image, level + 1);
      return true;
    }
    const contents = contentsOf(document);
    if (contents === null) return false;
    const { config, layers } = contents;
    if (config !== null) this.#addConfig({ locator: config.digest, size: config.size }, config.digest);
    for (const [index, { digest, size }] of layers.entries()) this.#addLayer({ locator: digest, size }, index, digest);
    return true;
  }

  async #addImage({ digest, size }: Descriptor, level: number): Promise<void> {
    if (this.known.has(digest) || this.#images >= IMAGES_MAX) return;
    this.#images += 1;
    this.known.add(digest);
    const bytes = await this.#documents.read({ locator: digest, size });
    if (bytes === null || !(await this.addDocument(bytes, level))) this.missing.push(digest);
  }

  #addConfig(blob: ImageBlob, digest: string): void {
    if (this.known.has(blob.locator)) return;
    this.known.add(blob.locator);
    for (const text of CONFIG_TEXTS) this.parts.push({ name: `config (${shortened(digest)})/${text}`, blob, text });
  }

  #addLayer(blob: ImageBlob, index: number, digest: string): void {
    if (this.known.has(blob.locator)) return;
    this.known.add(blob.locator);
    this.parts.push({ name: `layer ${index + 1} (${shortened(digest)})`, blob, text: null });
  }
}

/** Returns the digest in a file's name: `blobs/sha256/0123…`, `0123….tar.gz`. */
function digestIn(name: string): string | null {
  const digits = /(?:^|\/)([0-9a-f]{64})(?:\.\w+){0,2}$/.exec(name)?.[1];
  return digits === undefined ? null : `sha256:${digits}`;
}

function shortened(digest: string): string {
  return isDigest(digest) ? digest.slice(0, digest.indexOf(':') + 1 + DIGITS_SHOWN) : digest;
}
