import { constants } from 'node:fs';
import { lstat, open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

import { RESULT_FILE } from './work-directory.ts';

const ENTRIES_MAX = 100_000;

/** A file that a command left in its working directory. */
export interface LeftFile {
  /** Relative to the working directory. */
  readonly path: string;
  /** Null for a regular file; else what it is: it is not to be read. */
  readonly irregular: 'a symbolic link' | 'not a file' | null;
  /** Opens a regular file; no link is followed. */
  open(): Promise<FileHandle>;
}

/** Yields the files below a directory by name; directories that are links are not entered. At most 100,000. */
export async function* filesLeftIn(directory: string): AsyncGenerator<LeftFile> {
  let entries = 0;
  const waiting = [''];
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    const names = (await readdir(join(directory, folder)).catch(() => [])).toSorted();
    const inner: string[] = [];
    for (const name of names) {
      entries += 1;
      if (entries > ENTRIES_MAX) throw new Error(`it left more than ${ENTRIES_MAX} files`);
      const path = folder === '' ? name : `${folder}/${name}`;
      const stats = await lstat(join(directory, path)).catch(() => null);
      if (stats === null || path === RESULT_FILE) continue;
      if (stats.isDirectory()) inner.push(path);
      else yield leftFile(directory, path, stats);
    }
    waiting.push(...inner.toReversed());
  }
}

function leftFile(
  directory: string,
  path: string,
  stats: { isSymbolicLink(): boolean; isFile(): boolean; nlink: number },
): LeftFile {
  // A hard link could be to a file of somebody else.
  const isOwn = stats.isFile() && stats.nlink === 1;
  return {
    path,
    irregular: stats.isSymbolicLink() ? 'a symbolic link' : isOwn ? null : 'not a file',
    open: async () => {
      const file = await open(join(directory, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if ((await file.stat()).isFile()) return file;
      await file.close();
      throw new Error(`${path} is not a file`);
    },
  };
}
