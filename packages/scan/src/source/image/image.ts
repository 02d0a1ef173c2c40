import {
  isDigest,
  type ConfigText,
  configText,
  type Descriptor,
  DOCUMENT_BYTES_MAX,
  parsePlatform,
  type Platform,
} from '../../archive/image/documents.ts';
import type { ChoosePlatforms, ImagePart } from '../../archive/image/plan.ts';
import { EnumCursor } from '../../graph/cursor.ts';
import type { SourceSpec } from '../../options.ts';
import type { Problem } from '../../result.ts';
import {
  type EnumerationBatch,
  ObjectFault,
  type ObjectOpener,
  type ObjectReader,
  type ObjectSource,
} from '../port.ts';
import { BytesReader } from '../bytes-reader.ts';
import { readWhole } from './read-whole.ts';
import { openImageStore } from './open-store.ts';
import { isLocalImage } from './reference.ts';
import type { ImageStore } from './store.ts';

export type ImageSpec = Extract<SourceSpec, { type: 'image' }>;

/** A part with the image that it was found in. */
interface Listed {
  image: number;
  part: ImagePart;
}

/** The locator of a part, as JSON. */
interface PartLocator {
  image: number;
  blob: string;
  size: number;
  text: ConfigText | null;
}

interface Listing {
  parts: readonly Listed[];
  problems: readonly Problem[];
  /** The version of each image. */
  versions: readonly string[];
}

/**
 * Lists the layers and the configuration of images: each blob once, with the first image that has it. The cursor is the
 * number of parts returned, and the version of each image, since a tag may move meanwhile.
 */
export class ImageSource implements ObjectSource {
  readonly name: string;
  readonly #spec: ImageSpec;
  readonly #stores: readonly ImageStore[];
  #listing: Listing | null = null;

  constructor(spec: ImageSpec) {
    this.name = spec.images.join(', ');
    this.#spec = spec;
    this.#stores = spec.images.map(openImageStore);
  }

  async enumerate(cursor: EnumCursor, limit: number): Promise<EnumerationBatch> {
    const position = cursor.take();
    if (position.at === 'done') return { objects: [], problems: [], cursor: EnumCursor.done() };
    if (position.at === 'start') {
      // The versions are part of every cursor from here on, before anything of the images is read.
      const { versions, problems } = (this.#listing = await this.#list(this.#spec.images.map(() => null)));
      return { objects: [], problems, cursor: cursorAt(versions, 0) };
    }
    const { state } = position;
    if (state.type !== 'token') throw new Error(`${this.name}: the cursor belongs to another source (${state.type})`);
    const { skip } = state;
    const listing = (this.#listing ??= await this.#list(JSON.parse(state.token ?? '[]') as string[]));
    const objects = listing.parts.slice(skip, skip + limit).map(({ image, part: { name, blob, text } }) => ({
      path: `${this.#spec.images[image]!}!${name}`,
      locator: JSON.stringify({ image, blob: blob.locator, size: blob.size, text } satisfies PartLocator),
      size_hint: text === null ? blob.size : -1,
    }));
    const next = skip + objects.length;
    const isDone = next >= listing.parts.length;
    return { objects, problems: [], cursor: isDone ? EnumCursor.done() : cursorAt(listing.versions, next) };
  }

  async #list(before: readonly (string | null)[]): Promise<Listing> {
    const parts: Listed[] = [];
    const problems: Problem[] = [];
    const versions: string[] = [];
    const seen = new Set<string>();
    for (const [image, store] of this.#stores.entries()) {
      const name = this.#spec.images[image]!;
      const { plan, version } = await store.plan(choiceOf(name, this.#spec.platform ?? null), before[image] ?? null);
      versions.push(version);
      for (const part of plan.parts) {
        const { locator } = part.blob;
        const isShared = isDigest(locator) && seen.has(`${locator} ${part.text ?? ''}`);
        if (!isShared) parts.push({ image, part });
        seen.add(`${locator} ${part.text ?? ''}`);
      }
      for (const digest of plan.missing) {
        const message = 'the document of the image is missing, or no manifest that is supported';
        problems.push({ code: 'unreadable', path: `${name}!${digest}`, message, extent: 'skipped' });
      }
    }
    return { parts, problems, versions };
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
  }
}

function cursorAt(versions: readonly string[], skip: number): EnumCursor {
  return EnumCursor.continue({ type: 'token', token: JSON.stringify(versions), skip });
}

/** Opens the parts of images. */
export class ImageOpener implements ObjectOpener {
  readonly #stores: readonly ImageStore[];

  constructor(spec: ImageSpec) {
    this.#stores = spec.images.map(openImageStore);
  }

  async open({ path, locator }: { path: string; locator: string }): Promise<ObjectReader> {
    const { image, blob, size, text } = JSON.parse(locator) as PartLocator;
    const reader = await this.#stores[image]!.open({ locator: blob, size }, path);
    if (text === null) return reader;
    const bytes = await readWhole(reader, DOCUMENT_BYTES_MAX);
    if (bytes === null) {
      const message = `it has more than ${DOCUMENT_BYTES_MAX} bytes, too many for a configuration`;
      throw new ObjectFault({ code: 'too_large', path, message, extent: 'skipped' });
    }
    return new BytesReader(configText(bytes, text));
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
  }
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/**
 * Returns the choice of a platform: the requested one; without a request, that of this machine in a registry, and all
 * in local files.
 */
function choiceOf(image: string, requested: string | null): ChoosePlatforms | null {
  if (requested === 'all' || (requested === null && isLocalImage(image))) return null;
  const wanted = parsePlatform(requested ?? `linux/${ARCHITECTURES[process.arch] ?? process.arch}`)!;
  return (images) => chosen(image, images, wanted);
}

/** Images without a platform, such as those of several tags, are all chosen. */
function chosen(image: string, images: readonly Descriptor[], wanted: Platform): readonly Descriptor[] {
  // Attestations of builds have an unknown platform.
  const candidates = images.filter(({ platform }) => platform !== null && platform.os !== 'unknown');
  const unmarked = images.filter(({ platform }) => platform === null);
  const fitting = candidates.filter(({ platform }) => fits(platform!, wanted));
  if (candidates.length === 0 || fitting.length > 0) return [...unmarked, ...fitting.slice(0, 1)];
  if (candidates.length === 1) return [...unmarked, ...candidates];
  const names = candidates.slice(0, 20).map(({ platform }) => platformText(platform!));
  throw new Error(
    `${image} has no image for ${platformText(wanted)}; choose with --platform: ${names.join(', ')}, or all`,
  );
}

function fits(platform: Platform, wanted: Platform): boolean {
  const isSame = platform.os === wanted.os && platform.architecture === wanted.architecture;
  return isSame && (wanted.variant === '' || platform.variant === wanted.variant);
}

function platformText({ os, architecture, variant }: Platform): string {
  return `${os}/${architecture}${variant === '' ? '' : `/${variant}`}`;
}
