import { fdatasync, ftruncate, write } from 'node:fs';
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { JournalFile, JournalFiles } from './files.ts';

const truncateFile = promisify(ftruncate);

/** The journal's files in a directory, which is made where it is not there. */
export async function directoryFiles(directory: string): Promise<JournalFiles> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (name: string): string => join(directory, name);
  return {
    list: () => readdir(directory),
    size: async (name) => (await stat(pathOf(name))).size,
    read: async (name, at, length) => {
      await using file = await open(pathOf(name), 'r');
      return await readAll(file, at, length);
    },
    create: async (name) => {
      const file = await open(pathOf(name), 'wx', 0o600);
      try {
        await syncDirectory(directory);
      } catch (error) {
        await file.close();
        throw error;
      }
      return openedFile(file);
    },
    remove: (name) => unlink(pathOf(name)),
  };
}

async function readAll(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, 'r');
  await handle.sync();
}

/** The plain forms of the calls: a commit is made thousands of times a second. */
function openedFile(file: FileHandle): JournalFile {
  const { fd } = file;
  return {
    write: (bytes, at) =>
      new Promise((resolve, reject) => {
        const next = (from: number): void => {
          write(fd, bytes, from, bytes.length - from, at + from, (error, written) => {
            if (error !== null) reject(error);
            else if (from + written < bytes.length) next(from + written);
            else resolve();
          });
        };
        next(0);
      }),
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(fd, (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      }),
    truncate: (size) => truncateFile(fd, size),
    close: () => file.close(),
  };
}
