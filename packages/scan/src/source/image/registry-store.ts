import { createHash } from 'node:crypto';
import { Permits } from '@heddle/base/permits';

import { DOCUMENT_BYTES_MAX, isDigest } from '../../archive/image/documents.ts';
import { type ChoosePlatforms, type ImageBlob, type ImageDocuments, ImagePlan } from '../../archive/image/plan.ts';
import type { ObjectReader } from '../port.ts';
import { BlobReader } from './blob-reader.ts';
import type { ImageReference } from './reference.ts';
import { bodyOf, RegistryClient } from './registry-client.ts';
import type { ImageStore, PlannedImage } from './store.ts';

/** Blobs that one thread reads at once: each holds a connection. */
const BLOBS_MAX = 4;

const MANIFEST_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** An image in a registry. */
export class RegistryStore implements ImageStore, ImageDocuments {
  readonly #name: string;
  readonly #reference: ImageReference;
  readonly #client: RegistryClient;
  readonly #permits = new Permits(BLOBS_MAX);

  constructor(name: string, reference: ImageReference) {
    this.#name = name;
    this.#reference = reference;
    this.#client = new RegistryClient(reference);
  }

  async plan(choose: ChoosePlatforms | null, version: string | null): Promise<PlannedImage> {
    const bytes = await this.#manifest(version ?? this.#reference.version);
    const plan = new ImagePlan(this, choose ?? undefined);
    if (!(await plan.addDocument(bytes)))
      throw new Error(`${this.#name}: the registry returned no manifest of an image that is supported`);
    return { version: digestOf('sha256', bytes), plan };
  }

  async read({ locator }: ImageBlob): Promise<Uint8Array> {
    return await this.#manifest(locator);
  }

  async #manifest(version: string): Promise<Buffer> {
    const response = await this.#client.get(`manifests/${version}`, { accept: MANIFEST_TYPES });
    const bytes = await bodyOf(response, DOCUMENT_BYTES_MAX);
    if (isDigest(version) && digestOf(version.slice(0, version.indexOf(':')), bytes) !== version)
      throw new Error(`${this.#name}: the registry returned a manifest that is not that of its digest ${version}`);
    return bytes;
  }

  async open({ locator, size }: ImageBlob, path: string): Promise<ObjectReader> {
    const permit = await this.#permits.acquire();
    const fetch: ConstructorParameters<typeof BlobReader>[0]['fetch'] = async (from, signal) => {
      const range: Record<string, string> = from === 0 ? {} : { range: `bytes=${from}-` };
      const response = await this.#client.get(`blobs/${locator}`, range, signal);
      return { response, start: response.status === 206 ? from : 0 };
    };
    return new BlobReader({ path, digest: locator, size, fetch, onClose: () => permit.release() });
  }

  close(): void {
    this.#client.close();
  }
}

function digestOf(algorithm: string, bytes: Uint8Array): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}
