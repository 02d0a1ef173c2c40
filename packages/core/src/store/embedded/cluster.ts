import { createHash } from 'node:crypto';
import {
  appendFile,
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';

import { syncDirectory } from '@heddle/base/file-io';
import type { Logger } from '@heddle/base/log';
import type { Random } from '@heddle/base/random';
import { canEnter, findAccount, makePassable } from './account.ts';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError, isErrno } from './failure.ts';
import { runCommand, type Account } from './processes.ts';
import { settingsText, type ServerSettings } from './settings.ts';

export const ADMIN_ROLE = 'heddle_admin';

/** File locations of one embedded database. */
export interface Layout {
  /**
   * Directory given by the caller: holds the secret, the log, the lock file, and the data if its user can access it.
   */
  dataDir: string;
  /** PostgreSQL's own data directory. */
  cluster: string;
  socketDirectory: string;
  logFile: string;
  account: Account | undefined;
}

/** Maximum length of Unix socket addresses: 104 bytes on macOS, 108 on Linux. */
const SOCKET_PATH_MAX_BYTES = 103;

/**
 * Decides which user runs the server and where its files are. A data directory that this user cannot enter (under a
 * private home, started as root) is replaced by one under /var/lib/heddle, recorded in the file `location` there.
 */
export async function layOut(requestedDir: string, port: number, log: Logger): Promise<Layout> {
  const dataDir = await realpath(requestedDir);
  const location = join(dataDir, 'location');
  const elsewhere = await readFile(location, 'utf8').catch(() => undefined);
  let home = elsewhere?.trim() ?? dataDir;
  const account = await findAccount(join(home, 'cluster'), log);
  if (!(await canEnter(home, account))) {
    if (elsewhere !== undefined) {
      throw new EmbeddedPostgresError(`The user ${account?.name ?? ''} cannot enter ${home}, which ${location} names`);
    }
    home = await homeElsewhere();
    await writeFile(location, `${home}\n`);
  }
  if (home !== dataDir) {
    log.warn(
      { data_dir: dataDir, used_instead: home },
      `the database's user cannot access ${dataDir}; its data is in ${home}`,
    );
  }
  const socketDirectory = await makeSocketDirectory(home, port, account);
  return { dataDir, cluster: join(home, 'cluster'), socketDirectory, logFile: join(dataDir, 'postgres.log'), account };
}

/** Random, not derived from the path: a new checkout at an old path must not use the data of the old one. */
async function homeElsewhere(): Promise<string> {
  await makePassable('/var/lib/heddle');
  const home = await mkdtemp('/var/lib/heddle/data-');
  await chmod(home, 0o755);
  return home;
}

async function makeSocketDirectory(home: string, port: number, account: Account | undefined): Promise<string> {
  const inside = join(home, 'socket');
  const fits = Buffer.byteLength(join(inside, `.s.PGSQL.${port}`)) <= SOCKET_PATH_MAX_BYTES;
  const directory = fits ? inside : `/tmp/heddle-${createHash('sha256').update(home).digest('hex').slice(0, 16)}`;
  const uid = account?.uid ?? process.getuid?.();
  await mkdir(directory, { mode: 0o700 }).then(
    () => (account === undefined ? undefined : chown(directory, account.uid, account.gid)),
    (error: unknown) => {
      if (!isErrno(error, 'EEXIST')) throw error;
    },
  );
  const found = await lstat(directory);
  if (found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0) return directory;
  if (fits)
    throw new EmbeddedPostgresError(`${directory} must be a directory of ${account?.name ?? 'this user'}, mode 0700`);
  // Another user created the name in /tmp; anyone can, so that must not stop the start.
  const other = await mkdtemp('/tmp/heddle-');
  if (account !== undefined) await chown(other, account.uid, account.gid);
  return other;
}

/** Password of both roles: created once, readable by Heddle's user only. */
export async function provideSecret(dataDir: string, random: Random): Promise<string> {
  const path = join(dataDir, 'secret');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
  const secret = Buffer.from(random.bytes(32)).toString('base64url');
  await writeDurably(path, `${secret}\n`, 0o600);
  return secret;
}

/** Creates the cluster if missing, checks the version of an existing one, and writes the current settings. */
export async function prepareCluster(
  layout: Layout,
  binaries: Binaries,
  settings: ServerSettings,
  secret: string,
): Promise<void> {
  const { cluster, account } = layout;
  const home = join(cluster, '..');
  for (const name of await readdir(home)) {
    if (!name.startsWith('initdb-')) continue;
    // Left by a killed start. Its initdb may still be writing; then it stays until the next start.
    await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined);
  }
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) await createCluster(home, layout, binaries, secret);
  else checkVersion(cluster, version.trim(), binaries.version);
  const conf = join(cluster, 'heddle.conf');
  await writeDurably(conf, settingsText(settings), 0o600);
  if (account !== undefined) await chown(conf, account.uid, account.gid);
}

function checkVersion(cluster: string, found: string, ours: string): void {
  const major = ours.split('.')[0];
  if (found === major) return;
  throw new EmbeddedPostgresError(
    `${cluster} holds data of PostgreSQL ${found}, but the installed binaries are ${ours}: ` +
      `move the data with pg_upgrade or a dump, or install a Heddle that brings PostgreSQL ${found}`,
  );
}

/** Builds the cluster next to its place and renames it, so that an incomplete one is never used. */
async function createCluster(home: string, layout: Layout, binaries: Binaries, secret: string): Promise<void> {
  const { cluster, account } = layout;
  const draft = await mkdtemp(join(home, 'initdb-'));
  const passwordFile = `${draft}.password`;
  try {
    await writeFile(passwordFile, secret, { mode: 0o600 });
    if (account !== undefined) {
      await chown(draft, account.uid, account.gid);
      await chown(passwordFile, account.uid, account.gid);
    }
    const { code, output } = await runCommand(binaries.initdb, initdbArguments(draft, passwordFile), account);
    if (code !== 0) throw new EmbeddedPostgresError(`initdb failed: ${output.trim()}`);
    await appendFile(join(draft, 'postgresql.conf'), "\ninclude 'heddle.conf'\n# Settings below this line win.\n");
    await rename(draft, cluster);
    await syncDirectory(home);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (isErrno(error, 'ENOTEMPTY', 'EEXIST')) {
      throw new EmbeddedPostgresError(`${cluster} exists but is not a PostgreSQL data directory: move it away`, error);
    }
    throw error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function initdbArguments(directory: string, passwordFile: string): string[] {
  return [
    `--pgdata=${directory}`,
    `--username=${ADMIN_ROLE}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // Collation by code point, the same on every machine and after every library upgrade.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ];
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const draft = `${path}.new`;
  const handle = await open(draft, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, path);
}
