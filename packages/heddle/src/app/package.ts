import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { readManifest } from '@heddle/base/package-manifest';

/** The package's directory, from `src/app` and from `dist/app` alike. */
const PACKAGE_DIRECTORY = join(import.meta.dirname, '..', '..');

/** In the repository the examples lie beside the packages; the published package contains them. */
export const EXAMPLES_DIRECTORY = join(PACKAGE_DIRECTORY, import.meta.url.endsWith('.ts') ? '../..' : '.', 'examples');

/** Returns the directory of the built console. */
export function pageDirectory(): string {
  return fileURLToPath(new URL('dist', import.meta.resolve('@heddle/web/package.json')));
}

export const { version: VERSION, nodeMin: NODE_MIN } = readManifest(PACKAGE_DIRECTORY);
