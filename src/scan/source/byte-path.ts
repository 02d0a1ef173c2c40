import { posix } from 'node:path';

/**
 * Paths as the file system has them: bytes, which need not be UTF-8. Within the sources they are latin1 strings, one
 * character a byte; most are ASCII and are then the same string in every form.
 */

const NOT_ASCII = /[^\x00-\x7f]/;

/** The bytes of what a person typed. */
export function locatorOf(path: string): string {
  return NOT_ASCII.test(path) ? Buffer.from(path, 'utf8').toString('latin1') : path;
}

/** For people: bytes that are not UTF-8 become U+FFFD. */
export function displayOf(locator: string): string {
  return NOT_ASCII.test(locator) ? Buffer.from(locator, 'latin1').toString('utf8') : locator;
}

/** What Node's file system calls take: they would write a string as UTF-8, so other bytes go as a buffer. */
export function systemPathOf(locator: string): string | Buffer {
  return NOT_ASCII.test(locator) ? Buffer.from(locator, 'latin1') : locator;
}

/** The bytes of the path that was named, without what says nothing: `./src/` is `src`. */
export function rootLocatorOf({ path }: { path: string }): string {
  const normal = posix.normalize(path === '' ? '.' : path);
  return locatorOf(normal.length > 1 && normal.endsWith('/') ? normal.slice(0, -1) : normal);
}
