import { posix, relative, resolve } from 'node:path';

import type { ScanOptions } from '../../scan/options.ts';

/**
 * The options with what the scan itself writes left out: reports, baselines and the state file may lie in what is
 * scanned, and hold what was found.
 *
 * @param files the files that are written
 * @param directories the directories that are scanned
 */
export function withoutOwnFiles(
  options: ScanOptions,
  files: readonly string[],
  directories: readonly string[],
): ScanOptions {
  const own = directories.flatMap((directory) =>
    files.flatMap((file) => {
      const within = relative(resolve(directory), resolve(file));
      return within === '' || /^\.\.(\/|$)/.test(within) ? [] : [literalGlob(posix.join(directory, within))];
    }),
  );
  return own.length === 0 ? options : { ...options, exclude: [...options.exclude, ...new Set(own)] };
}

/** A glob that matches this path and no other. */
function literalGlob(path: string): string {
  return path.replace(/[\\*?[\]{}()!+@]/g, '\\$&');
}
