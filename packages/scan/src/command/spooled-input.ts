import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { refused } from '@heddle/base/terminal/refusal';
import { messageOf } from '@heddle/base/thrown';

/** Returns whether a file can be read only once, front to back: a pipe, as of `<(git diff)`. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

/** An input as a temporary file, which only this user can read: for what must be read at several places. */
export class SpooledInput {
  readonly #from: string | null;
  readonly #directory = mkdtempSync(join(tmpdir(), 'heddle-scan-'));
  readonly path = join(this.#directory, 'standard-input');

  /** @param from a pipe by its path; null: standard input */
  constructor(from: string | null) {
    this.#from = from;
  }

  /** Reads to the end, or until the signal; what has arrived by then is kept. */
  async fill(signal: AbortSignal): Promise<void> {
    try {
      const input = this.#from === null ? process.stdin : createReadStream(this.#from);
      await pipeline(input, createWriteStream(this.path, { mode: 0o600, flush: false }), { signal });
    } catch (error) {
      if (signal.aborted) return;
      throw refused(
        `${this.#from ?? 'standard input'} cannot be kept in ${this.#directory}: ${messageOf(error)}`,
        error,
      );
    }
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
