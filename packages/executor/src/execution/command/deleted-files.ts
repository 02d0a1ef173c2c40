import { lstat, readdir, stat } from 'node:fs/promises';

/** Descriptors that are inspected; a command with more counts as using too much. */
const DESCRIPTORS_MAX = 100_000;
const BLOCK_BYTES = 512;

/**
 * Returns the space of files that processes have deleted and still hold open, on the file system of a directory, bytes;
 * Infinity if they hold too many descriptors to be inspected.
 */
export async function deletedBytesOf(processes: readonly number[], directory: string): Promise<number> {
  const device = (await lstat(directory).catch(() => null))?.dev;
  const blocks = new Map<number, number>();
  let descriptors = 0;
  for (const pid of processes) {
    const folder = `/proc/${pid}/fd`;
    // It may have ended.
    const names = await readdir(folder).catch(() => []);
    descriptors += names.length;
    if (descriptors > DESCRIPTORS_MAX) return Number.POSITIVE_INFINITY;
    const found = await Promise.all(names.map((name) => stat(`${folder}/${name}`).catch(() => null)));
    for (const file of found) {
      if (file?.dev === device && file?.nlink === 0 && file.isFile()) blocks.set(file.ino, file.blocks);
    }
  }
  return [...blocks.values()].reduce((sum, each) => sum + each, 0) * BLOCK_BYTES;
}
