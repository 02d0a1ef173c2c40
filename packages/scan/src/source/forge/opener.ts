import { BytesReader } from '../bytes-reader.ts';
import { BlobOpener } from '../git/blob-opener.ts';
import type { ObjectOpener, ObjectReader } from '../port.ts';
import { readLocator } from './locator.ts';

/** Opens the objects of a forge. Those of one clone are all read before those of the next. */
export class ForgeOpener implements ObjectOpener {
  #blobs: { clone: string; opener: Promise<BlobOpener> } | null = null;

  async open({ path, locator }: { path: string; locator: string }): Promise<ObjectReader> {
    const place = readLocator(locator);
    if ('text' in place) return new BytesReader(Buffer.from(place.text));
    return (await this.#openerOf(place.clone)).open({ path, locator: place.id });
  }

  async close(): Promise<void> {
    const before = this.#blobs;
    this.#blobs = null;
    const opener = await before?.opener.catch(() => null);
    await opener?.close();
  }

  async #openerOf(clone: string): Promise<BlobOpener> {
    if (this.#blobs?.clone === clone) return this.#blobs.opener;
    const before = this.#blobs;
    const opener = BlobOpener.open({ repository: clone });
    this.#blobs = { clone, opener };
    await (await before?.opener.catch(() => null))?.close();
    return opener;
  }
}
