import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface PackageManifest {
  readonly version: string;
  /** The oldest Node that runs the package, such as `22.19`. */
  readonly nodeMin: string;
}

/** Reads the `package.json` of a directory. */
export function readManifest(directory: string): PackageManifest {
  const { version, engines } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    version: string;
    engines: { node: string };
  };
  return { version, nodeMin: engines.node.replace(/^>=/, '') };
}

/** Returns whether a version of Node, such as `24.1.0`, is new enough. */
export function isNodeSupported(version: string, nodeMin: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = nodeMin.split('.').map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
