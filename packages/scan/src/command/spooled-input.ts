import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { refused } from '@heddle/base/terminal/refusal';
import { messageOf } from '@heddle/base/thrown';

/** Standard input as a temporary file, which only this user can read: for what must be read at several places. */
export class SpooledInput {
  readonly #directory = mkdtempSync(join(tmpdir(), 'heddle-scan-'));
  readonly path = join(this.#directory, 'standard-input');

  /** Reads to the end, or until the signal; what has arrived by then is kept. */
  async fill(signal: AbortSignal): Promise<void> {
    try {
      await pipeline(process.stdin, createWriteStream(this.path, { mode: 0o600, flush: false }), { signal });
    } catch (error) {
      if (signal.aborted) return;
      throw refused(`standard input cannot be kept in ${this.#directory}: ${messageOf(error)}`, error);
    }
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
