import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's directory, from `src/app` and from `dist/app` alike. */
export const PACKAGE_DIRECTORY = join(import.meta.dirname, '..', '..');

/** In the repository the examples lie beside the packages; the published package contains them. */
export const EXAMPLES_DIRECTORY = join(PACKAGE_DIRECTORY, import.meta.url.endsWith('.ts') ? '../..' : '.', 'examples');

/** Returns the directory of the built console. */
export function pageDirectory(): string {
  return fileURLToPath(new URL('dist', import.meta.resolve('@heddle/web/package.json')));
}

interface Manifest {
  version: string;
  engines: { node: string };
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(PACKAGE_DIRECTORY, 'package.json'), 'utf8')) as Manifest;
}

const manifest = readManifest();

export const VERSION = manifest.version;

/** The oldest Node that runs Heddle, such as `22.19`. */
export const NODE_MIN = manifest.engines.node.replace(/^>=/, '');

/** Returns whether this version of Node, such as `24.1.0`, is new enough. */
export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = NODE_MIN.split('.').map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
