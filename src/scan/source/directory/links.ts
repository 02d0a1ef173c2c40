import { realpathSync, type Stats, statSync } from 'node:fs';
import { systemPathOf } from '../byte-path.ts';

/** A link that is to be followed: where it leads, and what stands there. */
export interface FollowedLink {
  /** Bytes of the path without any links, as a latin1 string. */
  real: string;
  stats: Stats;
}

/**
 * Decides which links of one walk are followed, so that nothing is listed twice and no walk is endless: what lies below
 * the root has a name of its own there; what lies outside is listed under the first link that leads to it.
 */
export class LinkTracker {
  /** Real paths of the root and of what links led to. */
  readonly #seen = new Set<string>();

  /** @param root bytes of the root's path as a latin1 string */
  constructor(root: string) {
    this.#seen.add(realPathOf(root));
  }

  /**
   * Null where what it leads to is listed under another name.
   *
   * @throws the system's error where it leads nowhere
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

  /** True where the real path of something outside the root was listed before, or is the root. */
  isSeen(real: string): boolean {
    return this.#seen.has(real);
  }
}

/** `''` for the root of the file system, so that a slash and a name can always follow. */
function realPathOf(locator: string): string {
  const real = realpathSync.native(systemPathOf(locator), 'latin1');
  return real === '/' ? '' : real;
}
