import { posix, relative, resolve } from 'node:path';

import type { ScanOptions } from '../options.ts';
import { partialName } from '../report/output-file.ts';

/**
 * Returns the options with the scan's own output excluded: reports, baselines and the state file may lie in the scanned
 * directories and contain findings.
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
      if (within === '' || /^\.\.(\/|$)/.test(within)) return [];
      const path = posix.join(directory, within);
      // Does not match the process's own partial file: another run with the same options must have the same globs.
      const partial = partialName(literalGlob(posix.basename(path)), '*');
      return [literalGlob(path), posix.join(literalGlob(posix.dirname(path)), partial)].map((glob) => `/${glob}`);
    }),
  );
  return own.length === 0 ? options : { ...options, exclude: [...options.exclude, ...new Set(own)] };
}

function literalGlob(path: string): string {
  return path.replace(/^\/+/, '').replace(/[\\*?[\]{}]/g, '\\$&');
}
