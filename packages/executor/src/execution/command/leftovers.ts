import { execFile } from 'node:child_process';
import { lstat, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { removeTree } from '../directory-tree.ts';
import { SHARED } from '../private-tmp.ts';

const run = promisify(execFile);

/** Kinds of System V objects, with the column of their id and the option of `ipcrm`. */
const OBJECTS = [
  { file: 'shm', id: 'shmid', option: '-m' },
  { file: 'msg', id: 'msqid', option: '-q' },
  { file: 'sem', id: 'semid', option: '-s' },
] as const;

/**
 * Removes what a command left outside of its directory: files in the directories that everyone may write to, shared
 * memory, message queues and semaphores. A later command of this user must not find them.
 *
 * @param user exclusive, without a running process
 */
export async function removeLeftovers(user: number): Promise<void> {
  for (const directory of SHARED) {
    for (const name of await readdir(directory, { encoding: 'buffer' }).catch(() => [])) {
      const path = Buffer.concat([Buffer.from(`${directory}/`), name]);
      const stats = await lstat(path).catch(() => null);
      if (stats?.uid !== user) continue;
      // Others may not replace it: these directories are sticky.
      await (stats.isDirectory() ? removeTree(path) : unlink(path));
    }
  }
  const options = (await Promise.all(OBJECTS.map((object) => removalOptions(object, user)))).flat();
  if (options.length > 0) await run('ipcrm', options);
}

/** Returns the options of `ipcrm` that remove the objects of a user. */
async function removalOptions({ file, id, option }: (typeof OBJECTS)[number], user: number): Promise<string[]> {
  const text = await readFile(join('/proc/sysvipc', file), 'utf8').catch(() => '');
  const [head = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const [idColumn, userColumn] = [head.indexOf(id), head.indexOf('uid')];
  return rows.filter((row) => row[userColumn] === String(user)).flatMap((row) => [option, row[idColumn]!]);
}
