import { stat } from 'node:fs/promises';

import type { Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { Loop } from '../../runtime/loop.ts';

const INTERVAL_MS = 2_000;

export interface FileWatchOptions {
  /** What the files hold, in words for the log: `key ring`. */
  name: string;
  /** Looked at as one: a change of any makes all be read again. */
  paths: readonly string[];
  clock: Clock;
  log: Logger;
  /** Reads the files and puts what they say into use, or throws and leaves everything as it was. */
  apply: () => Promise<void>;
}

/** Sees within two seconds that files changed, however that was done: written in place, renamed, or by a symbolic link. */
export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #loop: Loop;
  #inUse: string;
  #told: string | undefined;
  #looking: Promise<void> = Promise.resolve();

  /** Applies the files as they are now, and again whenever they change. @throws what the first `apply` throws */
  static async open(options: FileWatchOptions): Promise<FileWatch> {
    // Taken first: a change during the reading is then a change still.
    const seen = await signature(options.paths);
    await options.apply();
    const watch = new FileWatch(options, seen);
    watch.#loop.start();
    return watch;
  }

  private constructor(options: FileWatchOptions, seen: string) {
    this.#options = options;
    this.#inUse = seen;
    const { clock, log, name } = options;
    const runOnce = async (): Promise<'idle'> => {
      await this.check();
      return 'idle';
    };
    this.#loop = new Loop({ name: `changes of ${name}`, intervalMs: INTERVAL_MS, clock, log, runOnce });
  }

  /** Looks now. Files that cannot be used are tried again at each look, and told once. */
  check(): Promise<void> {
    // One after the other: of two at once, the slower could put into use what it read before a change.
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { paths, name, log, apply } = this.#options;
    const seen = await signature(paths);
    if (seen === this.#inUse) return;
    try {
      await apply();
      this.#inUse = seen;
      log.info({ files: paths }, `${name}: read again`);
    } catch (error) {
      if (seen === this.#told) return;
      this.#told = seen;
      log.error({ files: paths, err: error }, `${name}: changed but cannot be used; what was read before stays in use`);
    }
  }

  close(): Promise<void> {
    return this.#loop.stop();
  }
}

async function signature(paths: readonly string[]): Promise<string> {
  const each = await Promise.all(
    paths.map(async (path) => {
      const found = await stat(path, { bigint: true }).catch(() => null);
      return found === null ? 'none' : `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
    }),
  );
  return each.join(' ');
}
