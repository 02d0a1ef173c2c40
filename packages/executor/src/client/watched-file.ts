import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { CHECK_INTERVAL_MS, FileWatch } from '../security/file-watch.ts';

export interface WatchedFilesOptions<Value> {
  readonly paths: readonly string[];
  /** Description of the value, for the log. */
  readonly name: string;
  readonly read: () => Promise<Value>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A value loaded from files on first use, and reloaded on a later one if they have changed. If reloading fails, the
 * previous value stays in use.
 */
export class WatchedFiles<Value> {
  readonly #options: WatchedFilesOptions<Value>;
  #value: { read: Value } | null = null;
  #files: FileWatch | null = null;
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
    const { read, clock, ...files } = this.#options;
    const apply = async (): Promise<void> => void (this.#value = { read: await read() });
    if (this.#files === null) this.#files = await FileWatch.open({ ...files, clock: null, apply });
    else await this.#files.check();
    this.#checkedAt = clock.monotonic();
  }
}
