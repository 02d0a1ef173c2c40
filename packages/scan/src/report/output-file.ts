import { closeSync, constants, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { writeFully } from '@heddle/base/file-io';
import type { TextSink } from './report.ts';

const BUFFER_CHARACTERS = 64 * 1024;

/** Returns a file's name while it is being written; `owner` separates two processes. */
export function partialName(name: string, owner: string): string {
  return `.${name}.${owner}.partial`;
}

/**
 * A file that is written completely or not at all: written beside its name and renamed at the end. Anything but a
 * regular file (`/dev/stdout`, a pipe) is written directly. Opening throws the system's error.
 */
export class OutputFile implements TextSink {
  readonly path: string;
  /** The temporary file; null if the target is written directly. */
  readonly partialPath: string | null;
  readonly #target: string;
  #descriptor: number | null;
  #pending: string[] = [];
  #pendingCharacters = 0;

  /** @param mode permissions of the file, such as 0o600 for what holds secrets */
  constructor(path: string, mode = 0o666) {
    this.path = path;
    const existing = statSync(path, { throwIfNoEntry: false });
    if (existing?.isDirectory() === true) throw Object.assign(new Error(`${path} is a directory`), { code: 'EISDIR' });
    if (existing !== undefined && !existing.isFile()) {
      this.#target = path;
      this.partialPath = null;
      this.#descriptor = openSync(path, 'w');
      return;
    }
    // A symbolic link is kept: its target is replaced.
    this.#target = existing === undefined ? path : realpathSync(path);
    this.partialPath = join(dirname(this.#target), partialName(basename(this.#target), String(process.pid)));
    rmSync(this.partialPath, { force: true });
    const { O_WRONLY, O_CREAT, O_EXCL } = constants;
    this.#descriptor = openSync(this.partialPath, O_WRONLY | O_CREAT | O_EXCL, mode);
  }

  /** The final file; null if the target is written directly. */
  get target(): string | null {
    return this.partialPath === null ? null : this.#target;
  }

  write(text: string): void {
    this.#pending.push(text);
    this.#pendingCharacters += text.length;
    if (this.#pendingCharacters >= BUFFER_CHARACTERS) this.#flush();
  }

  /** Moves the complete file into place. */
  commit(): void {
    this.#flush();
    const descriptor = this.#descriptor!;
    if (this.partialPath !== null) fsyncSync(descriptor);
    closeSync(descriptor);
    this.#descriptor = null;
    if (this.partialPath !== null) renameSync(this.partialPath, this.#target);
  }

  /** Discards the new content and keeps the old file. A no-op after `commit`. */
  discard(): void {
    if (this.#descriptor === null) return;
    closeSync(this.#descriptor);
    this.#descriptor = null;
    if (this.partialPath !== null) rmSync(this.partialPath, { force: true });
  }

  #flush(): void {
    const bytes = Buffer.from(this.#pending.join(''), 'utf8');
    writeFully(this.#descriptor!, bytes);
    this.#pending = [];
    this.#pendingCharacters = 0;
  }
}
