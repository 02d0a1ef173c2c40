import { realpathSync, type Stats, statSync } from 'node:fs';
import { systemPathOf } from '../byte-path.ts';

/** A link to follow: its target and the target's status. */
export interface FollowedLink {
  /** Bytes of the path without any links, as a latin1 string. */
  real: string;
  stats: Stats;
}

/**
 * Decides which links of one walk are followed, so that nothing is listed twice and no walk is endless: a target below
 * the root is listed there; a target outside it is listed under the first link that leads to it.
 */
export class LinkTracker {
  /** Real paths of the root and of followed targets. */
  readonly #seen = new Set<string>();

  /** @param root bytes of the root's path, as a latin1 string */
  constructor(root: string) {
    this.#seen.add(realPathOf(root));
  }

  /**
   * Returns null if the target is listed under another name.
   *
   * @throws the system's error for a broken link
   */
  follow(locator: string): FollowedLink | null {
    const real = realPathOf(locator);
    const stats = statSync(systemPathOf(real === '' ? '/' : real));
    if (this.#seen.has('')) return null;
    for (let path = real; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
      if (this.#seen.has(path)) return null;
    }
    this.#seen.add(real);
    return { real, stats };
  }

  /** Returns true if a real path outside the root was already listed, or is the root. */
  isSeen(real: string): boolean {
    return this.#seen.has(real);
  }
}

/** Returns `''` for the root of the file system, so that a slash and a name can always follow. */
function realPathOf(locator: string): string {
  const real = realpathSync.native(systemPathOf(locator), 'latin1');
  return real === '/' ? '' : real;
}
