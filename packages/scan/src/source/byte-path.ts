import { posix } from 'node:path';

/**
 * Paths as the file system stores them: bytes, which need not be UTF-8. Sources represent them as latin1 strings, one
 * character per byte; most paths are ASCII and identical in every form.
 */

const NOT_ASCII = /[^\x00-\x7f]/;

/** Returns the bytes of a path that a user typed. */
export function locatorOf(path: string): string {
  return NOT_ASCII.test(path) ? Buffer.from(path, 'utf8').toString('latin1') : path;
}

/** Returns a path for display: bytes that are not UTF-8 become U+FFFD. */
export function displayOf(locator: string): string {
  return NOT_ASCII.test(locator) ? Buffer.from(locator, 'latin1').toString('utf8') : locator;
}

/**
 * Returns the argument for Node's file system calls: a buffer for non-ASCII bytes, since Node would encode a string as
 * UTF-8.
 */
export function systemPathOf(locator: string): string | Buffer {
  return NOT_ASCII.test(locator) ? Buffer.from(locator, 'latin1') : locator;
}

/** Returns the bytes of a named path, normalized: `./src/` is `src`. */
export function rootLocatorOf({ path }: { path: string }): string {
  const normal = posix.normalize(path === '' ? '.' : path);
  return locatorOf(normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal);
}
