import { statSync } from 'node:fs';

import { isLocalImage, parseReference } from './reference.ts';
import { RegistryStore } from './registry-store.ts';
import { type ImageStore, LayoutStore, TarStore } from './store.ts';

/**
 * Returns the store of an image: a path that begins with `/`, `./` or `../` is a directory with an OCI layout or an
 * archive; everything else is in a registry.
 *
 * @throws Error with the remedy if the name is neither
 */
export function openImageStore(image: string): ImageStore {
  if (isLocalImage(image)) {
    const stats = statSync(image, { throwIfNoEntry: false });
    if (stats === undefined)
      throw new Error(`${image} does not exist; name an archive or a directory with an OCI layout`);
    return stats.isDirectory() ? new LayoutStore(image) : new TarStore(image);
  }
  const reference = parseReference(image);
  if (reference === null)
    throw new Error(`${image} is not the name of an image, such as registry.example/app:1.2 or ./image.tar`);
  return new RegistryStore(image, reference);
}
