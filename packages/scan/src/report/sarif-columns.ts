import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

import type { Finding } from '../result.ts';

/** From 1; `end` is the column after the last character. */
export interface Utf16Columns {
  start: number;
  end: number;
}

/** Longer line prefixes are not read again to compute a column. */
const PREFIX_BYTES_MAX = 64 * 1024;

/**
 * Converts byte columns of findings in local files to SARIF columns, which count UTF-16 units, by reading the
 * beginning of the line again. Returns null if that is impossible: entries of archives, blobs of a history, remote
 * objects, deleted files, very long lines.
 */
export class FileColumns {
  #path: string | null = null;
  #descriptor: number | null = null;

  of(finding: Finding): Utf16Columns | null {
    const { path, offset, length, column, end_column, encodings, commit } = finding;
    if (commit !== undefined || !this.#open(path)) return null;
    const width = encodings[0]?.startsWith('utf-16') === true ? 2 : null;
    const start = this.#units(offset, column - 1, width);
    const end = this.#units(offset + length, end_column - 1, width);
    return start === null || end === null ? null : { start: start + 1, end: end + 1 };
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
    this.#path = null;
  }

  /** Findings arrive file by file, so one open file suffices. */
  #open(path: string): boolean {
    if (this.#path === path) return this.#descriptor !== null;
    this.close();
    this.#path = path;
    try {
      // Opening a pipe would block until its other end is opened.
      if (!statSync(path).isFile()) return false;
      const descriptor = openSync(path, 'r');
      if (fstatSync(descriptor).isFile()) this.#descriptor = descriptor;
      else closeSync(descriptor);
    } catch {
      return false;
    }
    return this.#descriptor !== null;
  }

  /** Counts the UTF-16 units in the `bytes` bytes before `offset`; a byte order mark counts as none. */
  #units(offset: number, bytes: number, width: number | null): number | null {
    if (bytes === 0) return 0;
    if (bytes < 0 || bytes > PREFIX_BYTES_MAX || bytes > offset) return null;
    const prefix = Buffer.allocUnsafe(bytes);
    try {
      if (readSync(this.#descriptor!, prefix, 0, bytes, offset - bytes) !== bytes) return null;
    } catch {
      return null;
    }
    const atBeginning = offset === bytes;
    if (width !== null) return Math.floor(bytes / width) - (atBeginning ? 1 : 0);
    return prefix.toString('utf8').length - (atBeginning && prefix.indexOf('\u{feff}') === 0 ? 1 : 0);
  }
}
