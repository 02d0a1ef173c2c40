import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';

import { quoted } from '@heddle/base/parse/path';
import { type CodeFile, codeDigest } from './code-digest.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeLimits } from './code-limits.ts';
import { checkCodePath, foldedPath } from './code-path.ts';

/** Writes the files of one pull into an empty directory and enforces all limits, regardless of the source. */
export class CodeWriter {
  readonly directory: string;
  readonly limits: CodeLimits;
  readonly #files: CodeFile[] = [];
  /** Paths as first written, keyed by the name that some file systems reduce them to. */
  readonly #taken = new Map<string, { path: string; kind: 'file' | 'directory' }>();
  #bytes = 0;

  constructor(directory: string, limits: CodeLimits) {
    this.directory = directory;
    this.limits = limits;
  }

  get files(): readonly CodeFile[] {
    return this.#files;
  }

  /** Verifies that a file of this size fits, before its content is read. @throws CodeFault */
  expect(path: string, bytes: number): void {
    const { files_max, file_bytes_max, bytes_max } = this.limits;
    if (this.#files.length >= files_max) throw new CodeFault(`there are more than ${files_max} files`);
    if (bytes > file_bytes_max) throw new CodeFault(`the file ${quoted(path)} is larger than ${file_bytes_max} bytes`);
    if (this.#bytes + bytes > bytes_max) throw new CodeFault(`the files are larger than ${bytes_max} bytes in total`);
  }

  /** @param path relative to the directory, with forward slashes. @throws CodeFault */
  async add(path: string, content: Uint8Array): Promise<void> {
    checkCodePath(path);
    this.expect(path, content.length);
    this.#reserve(path);
    this.#bytes += content.length;
    this.#files.push({ path, bytes: content.length, hash: createHash('sha256').update(content).digest() });
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    // wx: never writes through an existing file or link.
    await writeFile(file, content, { flag: 'wx', mode: 0o444 });
  }

  /** Returns the digest of all files added. @throws CodeFault if there are none */
  digest(): string {
    if (this.#files.length === 0) throw new CodeFault('it contains no files');
    return codeDigest(this.#files);
  }

  #reserve(path: string): void {
    this.#reserveOne(path, 'file');
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) {
      if (this.#reserveOne(folder, 'directory')) return;
    }
  }

  /** Returns true if the entry already exists. */
  #reserveOne(path: string, kind: 'file' | 'directory'): boolean {
    const folded = foldedPath(path);
    const earlier = this.#taken.get(folded);
    if (earlier === undefined) {
      this.#taken.set(folded, { path, kind });
      return false;
    }
    if (earlier.path === path && earlier.kind === 'directory' && kind === 'directory') return true;
    const both =
      earlier.path === path ? `${quoted(path)} appears twice` : `${quoted(earlier.path)} and ${quoted(path)}`;
    throw new CodeFault(earlier.path === path ? both : `${both} are the same name on some systems`);
  }
}
