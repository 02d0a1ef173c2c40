import { closeSync, constants, openSync } from 'node:fs';
import { systemPathOf } from './byte-path.ts';

/** Linux's PATH_MAX with its final zero byte; no other system allows more. */
const PATH_BYTES_MAX = 4095;
/** Reserved for `/proc/self/fd/N/` before a piece. */
const PIECE_BYTES_MAX = 4000;

/**
 * Calls `use` with a path that the system accepts. A path that is too long is reached through descriptors of its
 * directories on Linux; elsewhere `use` gets it unchanged, and the system reports that it is too long. The path is
 * valid only during the call.
 *
 * @param locator the bytes of the path, as a latin1 string
 */
export function atPath<T>(locator: string, use: (path: string | Buffer) => T): T {
  if (locator.length <= PATH_BYTES_MAX || process.platform !== 'linux') return use(systemPathOf(locator));
  let rest = locator;
  let held = -1;
  try {
    while (rest.length > PIECE_BYTES_MAX) {
      const cut = rest.lastIndexOf('/', PIECE_BYTES_MAX);
      const next = openSync(below(held, rest.slice(0, cut)), constants.O_RDONLY | constants.O_DIRECTORY);
      if (held !== -1) closeSync(held);
      held = next;
      rest = rest.slice(cut + 1);
    }
    return use(below(held, rest));
  } finally {
    if (held !== -1) closeSync(held);
  }
}

function below(descriptor: number, relative: string): string | Buffer {
  return systemPathOf(descriptor === -1 ? relative : `/proc/self/fd/${descriptor}/${relative}`);
}
