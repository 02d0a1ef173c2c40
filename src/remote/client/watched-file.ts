import { stat } from 'node:fs/promises';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';

/** How long what was read is used without a look at the files. */
const LOOK_EVERY_MS = 2000;

export interface WatchedFilesOptions<Value> {
  readonly paths: readonly string[];
  /** What this is, for the log. */
  readonly name: string;
  readonly read: () => Promise<Value>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What stands in files, read again when one of them has changed. Files that cannot be read any more leave the value as it is. */
export class WatchedFiles<Value> {
  readonly #options: WatchedFilesOptions<Value>;
  #value: { read: Value } | null = null;
  #stamp = '';
  #lookedAt = -Infinity;
  #looking: Promise<void> | null = null;

  constructor(options: WatchedFilesOptions<Value>) {
    this.#options = options;
  }

  /** @throws whatever reading them throws, as long as they were never read */
  async current(): Promise<Value> {
    if (this.#value === null || this.#options.clock.monotonic() - this.#lookedAt >= LOOK_EVERY_MS) {
      await (this.#looking ??= this.#look().finally(() => (this.#looking = null)));
    }
    return this.#value!.read;
  }

  async #look(): Promise<void> {
    const { paths, name, read, clock, log } = this.#options;
    try {
      const stamp = await stampOf(paths).catch(async (error: unknown) => {
        // Whoever reads them says best what is wrong with them.
        if (this.#value === null) await read();
        throw error;
      });
      if (stamp !== this.#stamp || this.#value === null) {
        this.#value = { read: await read() };
        this.#stamp = stamp;
      }
    } catch (error) {
      if (this.#value === null) throw error;
      log.error({ err: error, paths }, `${name} cannot be read again; what was read before stays in use`);
    }
    this.#lookedAt = clock.monotonic();
  }
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const stats = await Promise.all(paths.map((path) => stat(path)));
  return stats.map(({ mtimeMs, ino, size }) => `${mtimeMs}/${ino}/${size}`).join(' ');
}
