import type { Finding } from './source.ts';

const DRAWERS = /^(utils?|utilities|helpers?|commons?|misc|miscellaneous)$/;

/** Holds that no file or folder is a drawer for whatever has no name of its own. */
export function checkNames(paths: readonly string[]): Finding[] {
  return paths.flatMap((path) => {
    const drawer = path
      .split('/')
      .flatMap((part) => part.split(/[-._]|(?<=[a-z])(?=[A-Z])/))
      .find((word) => DRAWERS.test(word.toLowerCase()));
    if (drawer === undefined) return [];
    const message = `'${drawer}' says nothing of what is inside; name the file after the stage or the thing it holds`;
    return [{ path, line: 1, message }];
  });
}
