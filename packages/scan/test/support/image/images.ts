import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { write } from '../scan-fixture.ts';
import { buildTar, type TarEntry } from '../archive/corpus/tar.ts';

export interface ImageContent {
  layers: readonly (readonly TarEntry[])[];
  env?: readonly string[];
  labels?: Readonly<Record<string, string>>;
  history?: readonly string[];
  architecture?: string;
}

/** An image as its blobs, by digest. */
export interface BuiltImage {
  blobs: ReadonlyMap<string, Buffer>;
  manifest: string;
  config: string;
  layers: readonly string[];
  /** The layers without compression, as `docker save` writes them. */
  unpacked: readonly Buffer[];
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

export function buildImage({
  layers,
  env = [],
  labels = {},
  history = [],
  architecture = 'amd64',
}: ImageContent): BuiltImage {
  const blobs = new Map<string, Buffer>();
  const keep = (bytes: Buffer, mediaType: string) => {
    blobs.set(digestOf(bytes), bytes);
    return { mediaType, digest: digestOf(bytes), size: bytes.length };
  };
  const unpacked = layers.map((entries) => buildTar(entries));
  const packed = unpacked.map((tar) => keep(gzipSync(tar), 'application/vnd.oci.image.layer.v1.tar+gzip'));
  const config = keep(
    json({
      architecture,
      os: 'linux',
      config: { Env: env, Labels: labels, Cmd: ['/app'] },
      rootfs: { type: 'layers', diff_ids: unpacked.map(digestOf) },
      history: history.map((created_by) => ({ created_by })),
    }),
    'application/vnd.oci.image.config.v1+json',
  );
  const manifest = keep(
    json({ schemaVersion: 2, mediaType: MANIFEST_TYPE, config, layers: packed }),
    'application/vnd.oci.image.manifest.v1+json',
  );
  return {
    blobs,
    manifest: manifest.digest,
    config: config.digest,
    layers: packed.map(({ digest }) => digest),
    unpacked,
  };
}

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

/** Builds an index of images, with their platforms if given. */
export function buildIndex(images: readonly { image: BuiltImage; platform?: object; tag?: string }[]): Buffer {
  const manifests = images.map(({ image, platform, tag }) => ({
    mediaType: MANIFEST_TYPE,
    digest: image.manifest,
    size: image.blobs.get(image.manifest)!.length,
    ...(platform === undefined ? {} : { platform }),
    ...(tag === undefined ? {} : { annotations: { 'org.opencontainers.image.ref.name': tag } }),
  }));
  return json({ schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests });
}

/** The files of an OCI layout. */
export function layoutFiles(images: readonly BuiltImage[]): TarEntry[] {
  const blobs = new Map(images.flatMap((image) => [...image.blobs]));
  return [
    ...Array.from(blobs, ([digest, content]) => ({ name: `blobs/${digest.replace(':', '/')}`, content })),
    { name: 'index.json', content: buildIndex(images.map((image) => ({ image }))) },
    { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
  ];
}

export function writeLayout(folder: string, images: readonly BuiltImage[]): void {
  for (const { name, content } of layoutFiles(images)) write(join(folder, name as string), content as Uint8Array);
}

/** The files of `docker save`: layers without compression, and the manifest at the end. */
export function savedFiles(images: readonly { image: BuiltImage; tag: string }[]): TarEntry[] {
  const files = new Map<string, Buffer>();
  const manifest = images.map(({ image, tag }) => {
    const config = `${image.config.slice(7)}.json`;
    files.set(config, image.blobs.get(image.config)!);
    const layers = image.unpacked.map((tar) => `${digestOf(tar).slice(7)}.tar`);
    for (const [index, name] of layers.entries()) files.set(name, image.unpacked[index]!);
    return { Config: config, RepoTags: [tag], Layers: layers };
  });
  return [
    ...Array.from(files, ([name, content]) => ({ name, content })),
    { name: 'manifest.json', content: json(manifest) },
  ];
}

/** The files of an archive as crane, ko and Kaniko write it: the configuration first, and compressed layers. */
export function builtFiles(image: BuiltImage): TarEntry[] {
  const layers = image.layers.map((digest) => ({
    name: `${digest.slice(7)}.tar.gz`,
    content: image.blobs.get(digest)!,
  }));
  const manifest = [{ Config: image.config, RepoTags: ['app:1'], Layers: layers.map(({ name }) => name) }];
  return [
    { name: image.config, content: image.blobs.get(image.config)! },
    ...layers,
    { name: 'manifest.json', content: json(manifest) },
  ];
}
