import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { isObject } from '@heddle/base/parse/faults';
import { quoted } from '@heddle/base/parse/path';
import { CodeFault } from './code-fault.ts';
import type { StoredCode } from './code-store.ts';

const MANIFEST_BYTES_MAX = 1024 * 1024;
const INDEXES = ['index.js', 'index.mjs', 'index.ts', 'index.mts', 'index.cjs'];

/**
 * Returns the module that exports events: the given one, else the package.json entry (`exports`, `main`), else `index`,
 * else the only file.
 *
 * @throws CodeFault if there is no such file
 */
export async function entryModule(
  { directory, files }: Pick<StoredCode, 'directory' | 'files'>,
  given: string | null,
): Promise<string> {
  const wanted =
    given ?? (files.includes('package.json') ? await manifestEntry(join(directory, 'package.json')) : null);
  if (wanted !== null) {
    const found = [wanted, `${wanted}.js`, `${wanted}/index.js`].find((path) => files.includes(path));
    if (found !== undefined) return found;
    throw new CodeFault(`its module ${quoted(wanted)} does not exist`);
  }
  const index = INDEXES.find((path) => files.includes(path)) ?? (files.length === 1 ? files[0] : undefined);
  if (index === undefined) throw new CodeFault('it has no default module; set entry to the module that defines events');
  return index;
}

async function manifestEntry(file: string): Promise<string | null> {
  if ((await stat(file)).size > MANIFEST_BYTES_MAX) throw new CodeFault('its package.json is too large');
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CodeFault('its package.json is invalid', error);
  }
  if (!isObject(manifest)) return null;
  const path = exported(manifest['exports']) ?? manifest['main'];
  return typeof path === 'string' ? path.replace(/^\.\//, '') : null;
}

/** Resolves `exports` as an `import` in Node would, with limited nesting of conditions. */
function exported(exports: unknown, depth = 4): string | null {
  if (typeof exports === 'string') return exports;
  if (!isObject(exports) || depth === 0) return null;
  for (const key of ['.', 'node', 'import', 'default']) {
    const path = Object.hasOwn(exports, key) ? exported(exports[key], depth - 1) : null;
    if (path !== null) return path;
  }
  return null;
}
