import { stat } from 'node:fs/promises';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { Loop } from '@heddle/base/loop';

export const CHECK_INTERVAL_MS = 2_000;

export interface FileWatchOptions {
  /** Description of the files for the log, such as `key ring`. */
  name: string;
  /** Watched together: a change of any reloads all. */
  paths: readonly string[];
  /** Null if the caller checks the files itself. */
  clock: Clock | null;
  log: Logger;
  /** Reads and applies the files; if it throws, nothing changes. */
  apply: () => Promise<void>;
}

/**
 * Applies files again within two seconds of a change, whether they are written in place, renamed, or replaced through a
 * symbolic link.
 */
export class FileWatch {
  readonly #options: FileWatchOptions;
  readonly #loop: Loop | null;
  #appliedSignature: string;
  #loggedSignature: string | undefined;
  #checking: Promise<void> = Promise.resolve();

  /** Applies the files now and after every change. @throws any error of the first `apply` */
  static async open(options: FileWatchOptions): Promise<FileWatch> {
    // Taken before reading, so that a change during the read is detected.
    const seen = await signature(options.paths);
    await options.apply();
    const watch = new FileWatch(options, seen);
    watch.#loop?.start();
    return watch;
  }

  private constructor(options: FileWatchOptions, seen: string) {
    this.#options = options;
    this.#appliedSignature = seen;
    const { clock, log, name } = options;
    const runOnce = async (): Promise<'idle'> => {
      await this.check();
      return 'idle';
    };
    const loop = { name: `changes of ${name}`, intervalMs: CHECK_INTERVAL_MS, log, runOnce };
    this.#loop = clock === null ? null : new Loop({ ...loop, clock });
  }

  /** Checks now. Unusable files are retried at each check and logged once. */
  check(): Promise<void> {
    // Serialized, because the slower of two concurrent checks could apply outdated content.
    this.#checking = this.#checking.then(() => this.#checkOnce());
    return this.#checking;
  }

  async #checkOnce(): Promise<void> {
    const { paths, name, log, apply } = this.#options;
    const seen = await signature(paths);
    if (seen === this.#appliedSignature) return;
    try {
      await apply();
      this.#appliedSignature = seen;
      log.info({ files: paths }, `reloaded ${name}`);
    } catch (error) {
      if (seen === this.#loggedSignature) return;
      this.#loggedSignature = seen;
      log.error({ files: paths, err: error }, `could not reload ${name}; keeping the previous version`);
    }
  }

  async close(): Promise<void> {
    await this.#loop?.stop();
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
