import { createHash } from 'node:crypto';
import { open, realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CommandFailure } from '../failure.ts';

export interface DirectoryLock {
  release(): Promise<void>;
}

/** What need not be given back. */
const NOTHING: DirectoryLock = { release: () => Promise.resolve() };
const SOCKET = 'lock.sock';
/** What a file system says on which sockets cannot be made. */
const NO_SOCKETS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);

/**
 * Keeps a directory that is there for this process, for as long as it lives and however it ends: by listening on sockets, since the
 * system gives them back when a process is killed.
 *
 * @throws CommandFailure where another process has it
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const own = await lockByName(directory);
  if (own === null) throw inUse(directory);
  const shared = process.platform === 'linux' ? await lockInside(directory) : NOTHING;
  if (shared === null) {
    await closed(own);
    throw inUse(directory);
  }
  return { release: () => Promise.all([closed(own), shared.release()]).then(() => undefined) };
}

/** Among the processes of this machine, or of this container: nothing is left of it however the process ends. */
async function lockByName(directory: string): Promise<Server | null> {
  const digest = createHash('sha256').update(await realpath(directory));
  const name = `heddle-executor-${digest.digest('hex').slice(0, 32)}`;
  // Beside Linux such names are files, which a killed process leaves behind.
  return await listenOrReplace(process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`));
}

/** Among containers that share the directory as well: names of their own kind they do not see of each other, files they do. */
async function lockInside(directory: string): Promise<DirectoryLock | null> {
  const handle = await open(directory, 'r');
  try {
    // Addresses of sockets are short; the directory's own path may not be.
    const server = await listenOrReplace(`/proc/self/fd/${handle.fd}/${SOCKET}`);
    if (server === null) await handle.close();
    return server === null ? null : { release: () => closed(server).finally(() => handle.close()) };
  } catch (error) {
    await handle.close();
    if (NO_SOCKETS.has((error as NodeJS.ErrnoException).code ?? '')) return NOTHING;
    throw error;
  }
}

async function listenOrReplace(path: string): Promise<Server | null> {
  return (await listen(path)) ?? ((await isStale(path)) ? await listen(path) : null);
}

function inUse(directory: string): CommandFailure {
  return new CommandFailure(
    `Another executor uses ${directory}: stop it, or give this one a directory of its own (HEDDLE_EXECUTOR_DATA)`,
  );
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
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
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
  if (answers || path.startsWith('\0')) return false;
  await rm(path, { force: true });
  return true;
}
