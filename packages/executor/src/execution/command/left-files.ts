import { constants, type Stats } from 'node:fs';
import { chmod, open, type FileHandle } from 'node:fs/promises';

import { type TreeEntry, walk } from '../directory-tree.ts';
import { RESULT_FILE } from './work-directory.ts';

/** A file that a command left in its working directory. */
export interface LeftFile {
  /** Relative to the working directory. */
  readonly path: string;
  /** Null for a regular file; else what it is: it is not to be read. */
  readonly irregular: 'a symbolic link' | 'not a file' | 'not named in UTF-8' | null;
  /** Bytes. */
  readonly size: number;
  /**
   * Opens a regular file; valid until the next file is asked for.
   * @throws Error if it has been replaced since it was listed
   */
  open(): Promise<FileHandle>;
}

/**
 * Yields the files that a command left in its working directory, those of each directory by name. No link is followed,
 * even if one takes the place of a file or a directory meanwhile.
 *
 * @throws TreeTooLarge
 */
export async function* filesLeftIn(directory: string): AsyncGenerator<LeftFile> {
  for await (const entry of walk(directory, { opensAll: true })) {
    if (entry.path !== RESULT_FILE) yield leftFile(entry);
  }
}

function leftFile({ path, isUtf8, stats, place }: TreeEntry): LeftFile {
  return {
    path,
    irregular: irregularityOf(stats, isUtf8),
    size: stats.size,
    open: async () => {
      const file = await openOwn(place, stats);
      const now = await file.stat();
      // A hard link could be to a file of another user.
      if (now.isFile() && now.nlink === 1 && now.ino === stats.ino && now.dev === stats.dev) return file;
      await file.close();
      throw new Error(`${path} was replaced while it was read`);
    },
  };
}

function irregularityOf(stats: Stats, isUtf8: boolean): LeftFile['irregular'] {
  if (!isUtf8) return 'not named in UTF-8';
  if (stats.isSymbolicLink()) return 'a symbolic link';
  return stats.isFile() && stats.nlink === 1 ? null : 'not a file';
}

async function openOwn(place: Buffer, { mode }: Stats): Promise<FileHandle> {
  const isHidden = process.getuid?.() !== 0 && (mode & 0o400) === 0;
  if (isHidden) await chmod(place, 0o600);
  return open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}
