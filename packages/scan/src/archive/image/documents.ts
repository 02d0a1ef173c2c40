/** The JSON documents of container images, read tolerantly: whatever does not have the expected form is left out. */

/** Bytes of a manifest, an index or a configuration; registries accept no more than 4 MiB. */
export const DOCUMENT_BYTES_MAX = 4 * 1024 * 1024;

/** A reference to a blob, by its digest. */
export interface Descriptor {
  digest: string;
  /** -1 if unknown. */
  size: number;
  media_type: string;
  platform: Platform | null;
  /** Its tag, as stored in a layout. */
  tag: string | null;
}

export interface Platform {
  os: string;
  architecture: string;
  variant: string;
}

/** An image of an archive of `docker save`, by the names of its files. */
export interface SavedImage {
  config: string;
  layers: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** Returns the members of a JSON object; null for anything else. */
export function objectOf(bytes: Uint8Array): Json | null {
  const value = jsonOf(bytes);
  return isObject(value) ? value : null;
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}

/** Returns the images of an index, or null if the document is none. */
export function manifestsOf(document: Json): Descriptor[] | null {
  return Array.isArray(document['manifests']) ? descriptorsIn(document['manifests']) : null;
}

/** Returns the configuration and the layers of a manifest, or null if the document is none. */
export function contentsOf(document: Json): { config: Descriptor | null; layers: Descriptor[] } | null {
  if (!Array.isArray(document['layers'])) return null;
  return { config: descriptorOf(document['config']), layers: descriptorsIn(document['layers']) };
}

/** Returns the images that `manifest.json` of `docker save` lists; null if it is another file of that name. */
export function savedImagesOf(bytes: Uint8Array): SavedImage[] | null {
  const list = jsonOf(bytes);
  if (!Array.isArray(list) || list.length === 0) return null;
  const images = list.filter(isObject).flatMap(({ Config: config, Layers: layers }) => {
    if (typeof config !== 'string' || !Array.isArray(layers)) return [];
    return [{ config, layers: layers.filter((layer) => typeof layer === 'string') }];
  });
  return images.length === 0 ? null : images;
}

/** Returns the digests of the unpacked layers that a configuration lists. */
export function layerDigestsOf(config: Json | null): readonly unknown[] {
  const rootfs = config?.['rootfs'];
  const ids = isObject(rootfs) ? rootfs['diff_ids'] : null;
  return Array.isArray(ids) ? ids : [];
}

/** Accepts the digests that a layout and a registry can have; nothing else becomes part of a path or an address. */
export function isDigest(text: unknown): text is string {
  return typeof text === 'string' && /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/.test(text);
}

function descriptorsIn(list: readonly unknown[]): Descriptor[] {
  return list.flatMap((each) => descriptorOf(each) ?? []);
}

function descriptorOf(value: unknown): Descriptor | null {
  if (!isObject(value) || !isDigest(value['digest'])) return null;
  const { digest, size, mediaType, platform, annotations } = value;
  const tag = isObject(annotations) ? annotations['org.opencontainers.image.ref.name'] : null;
  return {
    digest,
    size: Number.isSafeInteger(size) && (size as number) >= 0 ? (size as number) : -1,
    media_type: typeof mediaType === 'string' ? mediaType : '',
    platform: isObject(platform) ? platformOf(platform) : null,
    tag: typeof tag === 'string' ? tag : null,
  };
}

/** Parses `linux/arm64/v8`; null if it has another form. */
export function parsePlatform(text: string): Platform | null {
  const [, os, architecture, variant = ''] = /^([a-z0-9]+)\/([a-z0-9_]+)(?:\/(\w+))?$/.exec(text) ?? [];
  return os === undefined || architecture === undefined ? null : { os, architecture, variant };
}

function platformOf({ os, architecture, variant }: Json): Platform {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { os: text(os), architecture: text(architecture), variant: text(variant) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A text that a configuration is scanned as. */
export type ConfigText = (typeof CONFIG_TEXTS)[number];

/** Named so that the structure of each is recognized. */
export const CONFIG_TEXTS = ['env', 'labels.json', 'history', 'settings.json'] as const;

/**
 * Returns a part of a configuration as text: variables as in a file of them, the commands that built the image one
 * after another. What is not a configuration is only in `settings.json`, unchanged.
 */
export function configText(bytes: Uint8Array, part: ConfigText): Buffer {
  const document = objectOf(bytes);
  if (document === null) return part === 'settings.json' ? Buffer.from(bytes) : Buffer.alloc(0);
  const { history, rootfs: _digests, ...rest } = document;
  const inner = isObject(rest['config']) ? rest['config'] : {};
  const { Env: env, Labels: labels, ...settings } = inner;
  switch (part) {
    case 'env':
      return linesOf(Array.isArray(env) ? env : []);
    case 'labels.json':
      return isObject(labels) && Object.keys(labels).length > 0 ? indented(labels) : Buffer.alloc(0);
    case 'history':
      return linesOf(Array.isArray(history) ? history.filter(isObject).flatMap(stepOf) : []);
    case 'settings.json':
      return indented(isObject(rest['config']) ? { ...rest, config: settings } : rest);
  }
}

function stepOf({ created_by: command, author, comment }: Json): unknown[] {
  return [command, author, comment].filter((text) => typeof text === 'string' && text !== '');
}

function linesOf(lines: readonly unknown[]): Buffer {
  return Buffer.from(
    lines
      .filter((line) => typeof line === 'string')
      .map((line) => `${line}\n`)
      .join(''),
  );
}

function indented(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}
