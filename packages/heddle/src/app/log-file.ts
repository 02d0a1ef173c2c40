import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { makePassable } from '@heddle/core/store/embedded/account';
import type { LogSink } from './process-log.ts';

/**
 * A file of this size is renamed to `log.1`, replacing the previous one, so that both together stay below twice this
 * size.
 */
const ROTATE_BYTES = 16 * 1024 * 1024;

/** The log of `heddle up`: the file `log` in its data directory, readable by its user only. */
export class LogFile implements LogSink {
  readonly path: string;
  readonly #rotateBytes: number;
  #file: number;
  #bytes: number;

  private constructor(path: string, rotateBytes: number) {
    this.path = path;
    this.#rotateBytes = rotateBytes;
    this.#file = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#file).size;
  }

  static async open(directory: string, rotateBytes = ROTATE_BYTES): Promise<LogFile> {
    await makePassable(directory);
    return new LogFile(join(directory, 'log'), rotateBytes);
  }

  /** @throws the error of the file system, such as ENOSPC */
  write(line: string): void {
    if (this.#bytes >= this.#rotateBytes) this.#rotate();
    this.#bytes += writeSync(this.#file, line);
  }

  #rotate(): void {
    closeSync(this.#file);
    renameSync(this.path, `${this.path}.1`);
    this.#file = openSync(this.path, 'a', 0o600);
    this.#bytes = 0;
  }
}
