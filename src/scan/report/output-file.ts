import {
  closeSync,
  constants,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type { TextSink } from './report.ts';

const BUFFER_CHARACTERS = 64 * 1024;

/** What a file is called while it is being written; `owner` keeps two processes apart. */
export function partialName(name: string, owner: string): string {
  return `.${name}.${owner}.partial`;
}

/**
 * A file that is there whole or not at all: written beside its name and renamed at the end. What is no file of data
 * (`/dev/stdout`, a pipe) is written to as it comes. Opening it throws the system's error.
 */
export class OutputFile implements TextSink {
  readonly path: string;
  /** The file that is being written; null where it is written to directly. */
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
    // A link stays a link: what it leads to is replaced.
    this.#target = existing === undefined ? path : realpathSync(path);
    this.partialPath = join(dirname(this.#target), partialName(basename(this.#target), String(process.pid)));
    rmSync(this.partialPath, { force: true });
    const { O_WRONLY, O_CREAT, O_EXCL } = constants;
    this.#descriptor = openSync(this.partialPath, O_WRONLY | O_CREAT | O_EXCL, mode);
  }

  /** The file that will be there in the end; null where it is written to directly. */
  get target(): string | null {
    return this.partialPath === null ? null : this.#target;
  }

  write(text: string): void {
    this.#pending.push(text);
    this.#pendingCharacters += text.length;
    if (this.#pendingCharacters >= BUFFER_CHARACTERS) this.#flush();
  }

  /** Puts the whole file in its place. */
  commit(): void {
    this.#flush();
    const descriptor = this.#descriptor!;
    if (this.partialPath !== null) fsyncSync(descriptor);
    closeSync(descriptor);
    this.#descriptor = null;
    if (this.partialPath !== null) renameSync(this.partialPath, this.#target);
  }

  /** Leaves what was there before. Harmless after `commit`. */
  discard(): void {
    if (this.#descriptor === null) return;
    closeSync(this.#descriptor);
    this.#descriptor = null;
    if (this.partialPath !== null) rmSync(this.partialPath, { force: true });
  }

  #flush(): void {
    const bytes = Buffer.from(this.#pending.join(''), 'utf8');
    for (let at = 0; at < bytes.length;) at += writeSync(this.#descriptor!, bytes, at);
    this.#pending = [];
    this.#pendingCharacters = 0;
  }
}
