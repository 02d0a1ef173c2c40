import { stat } from 'node:fs/promises';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';

/** Time for which a loaded value is used without checking the files. */
const CHECK_INTERVAL_MS = 2000;

export interface WatchedFilesOptions<Value> {
  readonly paths: readonly string[];
  /** Description of the value, for the log. */
  readonly name: string;
  readonly read: () => Promise<Value>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A value loaded from files and reloaded when one changes. If reloading fails, the previous value stays in use. */
export class WatchedFiles<Value> {
  readonly #options: WatchedFilesOptions<Value>;
  #value: { read: Value } | null = null;
  #stamp = '';
  #checkedAt = -Infinity;
  #checking: Promise<void> | null = null;

  constructor(options: WatchedFilesOptions<Value>) {
    this.#options = options;
  }

  /** @throws any error from reading the files, until they were read once */
  async current(): Promise<Value> {
    if (this.#value === null || this.#options.clock.monotonic() - this.#checkedAt >= CHECK_INTERVAL_MS) {
      await (this.#checking ??= this.#check().finally(() => (this.#checking = null)));
    }
    return this.#value!.read;
  }

  async #check(): Promise<void> {
    const { paths, name, read, clock, log } = this.#options;
    try {
      const stamp = await stampOf(paths).catch(async (error: unknown) => {
        // Reading reports a more specific error than stat.
        if (this.#value === null) await read();
        throw error;
      });
      if (stamp !== this.#stamp || this.#value === null) {
        this.#value = { read: await read() };
        this.#stamp = stamp;
      }
    } catch (error) {
      if (this.#value === null) throw error;
      log.error({ err: error, paths }, `could not reload ${name}; keeping the previous one`);
    }
    this.#checkedAt = clock.monotonic();
  }
}

async function stampOf(paths: readonly string[]): Promise<string> {
  const stats = await Promise.all(paths.map((path) => stat(path)));
  return stats.map(({ mtimeMs, ino, size }) => `${mtimeMs}/${ino}/${size}`).join(' ');
}
