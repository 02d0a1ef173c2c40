import { createHash } from 'node:crypto';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CommandFailure } from '../failure.ts';

export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * Keeps a directory that is there for this process, for as long as it lives and however it ends: by listening on a socket whose name is
 * made of the directory's, since the system gives that back when a process is killed.
 *
 * @throws CommandFailure where another process has it
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const digest = createHash('sha256').update(await realpath(directory));
  const name = `heddle-executor-${digest.digest('hex').slice(0, 32)}`;
  // Beside Linux such names are files, which a killed process leaves behind.
  const path = process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`);
  const server = (await listen(path)) ?? ((await isStale(path)) ? await listen(path) : null);
  if (server === null) {
    throw new CommandFailure(
      `Another executor uses ${directory}: stop it, or give this one a directory of its own (HEDDLE_EXECUTOR_DATA)`,
    );
  }
  return { release: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** Null where somebody else listens there, or has. */
function listen(path: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(path, () => resolve(server.unref()));
  });
}

/** Whether the file was left by a process that is gone; it is removed then. */
async function isStale(path: string): Promise<boolean> {
  const answers = await new Promise<boolean>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
  if (answers || path.startsWith('\0')) return false;
  await rm(path, { force: true });
  return true;
}
