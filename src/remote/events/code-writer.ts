import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';

import { quoted } from '../../domain/parse/path.ts';
import { type CodeFile, codeDigest } from './code-digest.ts';
import { CodeFault } from './code-fault.ts';
import type { CodeLimits } from './code-limits.ts';
import { checkCodePath, foldedPath } from './code-path.ts';

/** Writes the files of one pull below an empty directory; whatever the source, nothing gets past its checks. */
export class CodeWriter {
  readonly directory: string;
  readonly limits: CodeLimits;
  readonly #files: CodeFile[] = [];
  /** As they were first written, by what some file systems take them for. */
  readonly #taken = new Map<string, { path: string; kind: 'file' | 'directory' }>();
  #bytes = 0;

  constructor(directory: string, limits: CodeLimits) {
    this.directory = directory;
    this.limits = limits;
  }

  get files(): readonly CodeFile[] {
    return this.#files;
  }

  /** Whether a file of so many bytes has room; before its content is read. @throws CodeFault */
  expect(path: string, bytes: number): void {
    const { files_max, file_bytes_max, bytes_max } = this.limits;
    if (this.#files.length >= files_max) throw new CodeFault(`there are more than ${files_max} files`);
    if (bytes > file_bytes_max) throw new CodeFault(`the file ${quoted(path)} has more than ${file_bytes_max} bytes`);
    if (this.#bytes + bytes > bytes_max) throw new CodeFault(`the files have more than ${bytes_max} bytes together`);
  }

  /** @param path from the directory, with forward slashes. @throws CodeFault */
  async add(path: string, content: Uint8Array): Promise<void> {
    checkCodePath(path);
    this.expect(path, content.length);
    this.#take(path);
    this.#bytes += content.length;
    this.#files.push({ path, bytes: content.length, hash: createHash('sha256').update(content).digest() });
    const file = join(this.directory, path);
    await mkdir(dirname(file), { recursive: true });
    // wx: a file that is there already, or a link in its place, is never written through.
    await writeFile(file, content, { flag: 'wx', mode: 0o444 });
  }

  /** The digest of everything added. @throws CodeFault where that is nothing */
  digest(): string {
    if (this.#files.length === 0) throw new CodeFault('there is no file in it');
    return codeDigest(this.#files);
  }

  #take(path: string): void {
    this.#takeOne(path, 'file');
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) {
      if (this.#takeOne(folder, 'directory')) return;
    }
  }

  /** True where it was there already. */
  #takeOne(path: string, kind: 'file' | 'directory'): boolean {
    const folded = foldedPath(path);
    const earlier = this.#taken.get(folded);
    if (earlier === undefined) {
      this.#taken.set(folded, { path, kind });
      return false;
    }
    if (earlier.path === path && earlier.kind === 'directory' && kind === 'directory') return true;
    const both =
      earlier.path === path ? `${quoted(path)} is there twice` : `${quoted(earlier.path)} and ${quoted(path)}`;
    throw new CodeFault(earlier.path === path ? both : `${both} are one name on some systems`);
  }
}
