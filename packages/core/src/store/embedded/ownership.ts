import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { EmbeddedPostgresError, isErrno } from './failure.ts';
import { processStart } from './processes.ts';

interface Owner {
  pid: number;
  start: string;
}

/**
 * Locks a data directory for this process until the returned function is called or the process ends. Takes over the
 * lock of a dead process.
 *
 * @throws EmbeddedPostgresError if a live process (or this one) holds the lock
 */
export async function takeOwnership(dataDir: string): Promise<() => Promise<void>> {
  const mark = join(dataDir, 'owner');
  const draft = `${mark}.${process.pid}`;
  const start = processStart(process.pid) ?? '';
  await writeFile(draft, JSON.stringify({ pid: process.pid, start } satisfies Owner), { mode: 0o600 });
  try {
    while (!(await linked(draft, mark))) {
      const owner = await readOwner(mark);
      if (isAlive(owner)) throw inUse(dataDir, owner);
      await setAside(mark, dataDir);
    }
  } finally {
    await rm(draft, { force: true });
  }
  return () => rm(mark, { force: true });
}

/** Linking is the only way to create a file with its content that fails if the name exists. */
async function linked(draft: string, mark: string): Promise<boolean> {
  try {
    await link(draft, mark);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Removes a stale lock; if another process took over meanwhile, restores its lock. */
async function setAside(mark: string, dataDir: string): Promise<void> {
  const aside = `${mark}.stale.${process.pid}`;
  try {
    await rename(mark, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  const owner = await readOwner(aside);
  if (isAlive(owner)) {
    await rename(aside, mark);
    throw inUse(dataDir, owner);
  }
  await rm(aside, { force: true });
}

async function readOwner(mark: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(mark, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

function isAlive(owner: Owner | undefined): owner is Owner {
  return owner !== undefined && processStart(owner.pid) === owner.start;
}

function inUse(dataDir: string, owner: Owner): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `${dataDir} is in use by the Heddle with process number ${owner.pid}: ` +
      'stop it first, or give this one another HEDDLE_DATA_DIR',
  );
}
