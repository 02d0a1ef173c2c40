import { createHash } from 'node:crypto';
import { open, realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CommandFailure } from '@heddle/base/terminal/failure';

export interface DirectoryLock {
  release(): Promise<void>;
}

/** Resources that need not be released. */
const NOTHING: DirectoryLock = { release: () => Promise.resolve() };
const SOCKET = 'lock.sock';
/** Error codes of file systems that do not support sockets. */
const NO_SOCKETS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);

/**
 * Locks an existing directory for the life of this process, however it ends: the lock is a set of listening sockets,
 * which the system closes when a process is killed.
 * @throws CommandFailure if another process has locked it
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

/** Locks among the processes of this machine or container: nothing remains, however the process ends. */
async function lockByName(directory: string): Promise<Server | null> {
  const digest = createHash('sha256').update(await realpath(directory));
  const name = `heddle-executor-${digest.digest('hex').slice(0, 32)}`;
  // Outside Linux such names are files, which a killed process leaves behind.
  return await listenOrReplace(process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`));
}

/** Locks among containers that share the directory as well: they do not share abstract names, but do share files. */
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
    `Another executor uses ${directory}: stop it, or give this one its own directory (HEDDLE_EXECUTOR_DATA)`,
  );
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Returns null if another process listens there. */
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

/** Returns whether a dead process left the file, which is then removed. */
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
