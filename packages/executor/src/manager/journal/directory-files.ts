import { constants, fdatasync, ftruncate, write } from 'node:fs';
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { readFully, syncDirectory } from '@heddle/base/file-io';
import type { JournalFile, JournalFiles } from './files.ts';

const truncateFile = promisify(ftruncate);
const syncFile = promisify(fdatasync);

const { O_CREAT, O_DSYNC, O_EXCL, O_WRONLY } = constants;
/** Makes each write durable with one call instead of two. Other systems guarantee less for this flag. */
const DURABLE = process.platform === 'linux' ? O_DSYNC : 0;

/** Opens the journal's files in a directory, which is created if missing. */
export async function directoryFiles(directory: string): Promise<JournalFiles> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (name: string): string => join(directory, name);
  return {
    list: () => readdir(directory),
    size: async (name) => (await stat(pathOf(name))).size,
    read: async (name, at, length) => {
      await using file = await open(pathOf(name), 'r');
      return await readFully(file, at, length);
    },
    create: async (name, durable) => {
      const file = await open(pathOf(name), O_WRONLY | O_CREAT | O_EXCL | (durable ? DURABLE : 0), 0o600);
      try {
        await syncDirectory(directory);
      } catch (error) {
        await file.close();
        throw error;
      }
      return openedFile(file, durable && DURABLE === 0);
    },
    remove: (name) => unlink(pathOf(name)),
  };
}

/** Uses callback APIs, because commits happen thousands of times per second. */
function openedFile(file: FileHandle, mustSync: boolean): JournalFile {
  const { fd } = file;
  return {
    write: async (bytes, at) => {
      await new Promise<void>((resolve, reject) => {
        const next = (from: number): void => {
          write(fd, bytes, from, bytes.length - from, at + from, (error, written) => {
            if (error !== null) reject(error);
            else if (from + written < bytes.length) next(from + written);
            else resolve();
          });
        };
        next(0);
      });
      if (mustSync) await syncFile(fd);
    },
    truncate: async (size) => {
      await truncateFile(fd, size);
      await syncFile(fd);
    },
    close: () => file.close(),
  };
}
