import { constants } from 'node:fs';
import { chmod, chown, lstat, mkdir, open, type FileHandle } from 'node:fs/promises';
import { join, normalize, sep } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import { removeTree, TreeTooLarge, walk } from '../directory-tree.ts';
import { deletedBytesOf } from './deleted-files.ts';
import type { CommandFile } from './port.ts';

export const RESULT_FILE = '.heddle-result';
const RESULT_BYTES_MAX = 1024 * 1024;
/** Time between two measurements, relative to that of one: those of many files take a share of this process's time. */
const PAUSE_SHARE = 3;
/** Of what `stat` counts the space of a file in. */
const BLOCK_BYTES = 512;

export interface DiskWatch {
  readonly clock: Clock;
  /** Time between two measurements. */
  readonly diskIntervalMs: number;
  /** Bytes that the directory may take. */
  readonly diskBytes: number;
  /** Returns the running processes of the command, whose deleted files take space too. */
  readonly processes: () => readonly number[];
}

/** The working directory of one command, owned by the user of its processes. */
export class WorkDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * @param user owner; null for this process's own
   * @param bytesMax of all files together
   */
  static async make(
    path: string,
    user: number | null,
    files: readonly CommandFile[],
    bytesMax: number,
  ): Promise<WorkDirectory> {
    const directory = new WorkDirectory(path);
    try {
      await makeFor(user, path);
      let left = bytesMax;
      for (const { path: name, content } of files) {
        const chunks = content instanceof Uint8Array ? [content] : await content();
        left -= await directory.#write(name, chunks, user, left);
      }
    } catch (error) {
      await directory.remove();
      throw error;
    }
    return directory;
  }

  /** @returns its length */
  async #write(
    name: string,
    chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    user: number | null,
    bytesMax: number,
  ): Promise<number> {
    const parts = normalize(name).split(sep);
    if (name === '' || parts[0] === '' || parts.includes('..')) {
      throw new Error(`the file ${JSON.stringify(name)} is outside the working directory`);
    }
    for (let depth = 1; depth < parts.length; depth += 1) {
      await makeFor(user, join(this.path, ...parts.slice(0, depth))).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
    const path = join(this.path, ...parts);
    // Executable, since a script is the most common file of a command.
    const file = await open(path, 'wx', 0o700);
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > bytesMax) throw new Error(`its files are larger than a working directory may be, with ${name}`);
        await file.writeFile(chunk);
      }
    } finally {
      await file.close();
    }
    if (user !== null) await chown(path, user, user);
    return bytes;
  }

  /** Space of all files below it, bytes; Infinity if they are too many or nested too deep to be measured. */
  async size(): Promise<number> {
    let blocks = 0;
    try {
      for await (const { stats } of walk(this.path, { opensAll: false })) blocks += stats.blocks;
    } catch (error) {
      if (error instanceof TreeTooLarge) return Number.POSITIVE_INFINITY;
      // Another measurement follows.
    }
    return blocks * BLOCK_BYTES;
  }

  /** Measures it until the signal aborts, and calls `onOver` once if it has become too large. */
  async watch(
    { clock, diskIntervalMs, diskBytes, processes }: DiskWatch,
    signal: AbortSignal,
    onOver: () => void | Promise<void>,
  ): Promise<void> {
    const isOver = (): boolean => signal.aborted;
    let pauseMs = diskIntervalMs;
    while (!isOver()) {
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      if (isOver()) return;
      const began = clock.monotonic();
      const bytes = (await this.size()) + (await deletedBytesOf(processes(), this.path));
      pauseMs = Math.max(diskIntervalMs, PAUSE_SHARE * (clock.monotonic() - began));
      if (bytes <= diskBytes) continue;
      await onOver();
      return;
    }
  }

  /** @returns null if there is none @throws Error if it is not a regular file, or too large */
  async readResult(): Promise<Buffer | null> {
    const path = join(this.path, RESULT_FILE);
    if (process.getuid?.() !== 0) await makeReadable(this.path, path);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      (error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT') return null;
        throw new Error(`$HEDDLE_RESULT cannot be read: ${code}; it must be a regular file`, { cause: error });
      },
    );
    if (file === null) return null;
    try {
      const { size } = await regularFile(file);
      if (size > RESULT_BYTES_MAX) {
        throw new Error(`$HEDDLE_RESULT has ${size} bytes, more than the ${RESULT_BYTES_MAX} that a result may have`);
      }
      return await file.readFile();
    } finally {
      await file.close();
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.path);
  }
}

async function regularFile(file: FileHandle): Promise<{ size: number }> {
  const stats = await file.stat();
  // A hard link could be to a file of another user.
  if (!stats.isFile() || stats.nlink !== 1) throw new Error('$HEDDLE_RESULT is not a regular file');
  return stats;
}

async function makeFor(user: number | null, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (user !== null) await chown(path, user, user);
}

/** Grants this process the access that a command has removed; links are left alone. */
async function makeReadable(directory: string, path: string): Promise<void> {
  for (const place of [directory, path]) {
    const stats = await lstat(place).catch(() => null);
    if (stats?.isDirectory() === true) await chmod(place, 0o700);
    else if (stats?.isFile() === true) await chmod(place, 0o600);
  }
}
