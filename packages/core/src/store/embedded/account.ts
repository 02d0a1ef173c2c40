import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import type { Logger } from '@heddle/base/log';
import { EmbeddedPostgresError } from './failure.ts';
import { runCommand, type Account } from './processes.ts';

/** Tried in this order: Heddle's own account, then the one that distributions create for PostgreSQL. */
const KNOWN_ACCOUNTS = ['heddle', 'postgres'];

/**
 * Returns the unprivileged user for PostgreSQL, which refuses to run as root; undefined if this process is not root and
 * PostgreSQL runs as the same user. The owner of an existing data directory stays its owner.
 */
export async function findAccount(clusterDirectory: string, log: Logger): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(clusterDirectory).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid, name: `uid ${owner.uid}` };
  for (const name of KNOWN_ACCOUNTS) {
    const account = await lookUp(name);
    if (account !== undefined) return account;
  }
  await runCommand('useradd', ['--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'heddle']);
  const created = await lookUp('heddle');
  if (created !== undefined) {
    log.info({ account: 'heddle' }, 'created the system user of the embedded database');
    return created;
  }
  const nobody = await lookUp('nobody');
  if (nobody !== undefined) return nobody;
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and no unprivileged user could be found or created: ' +
      'add one (useradd --system heddle), start Heddle as another user, or set DATABASE_URL',
  );
}

async function lookUp(name: string): Promise<Account | undefined> {
  const [uid, gid] = await Promise.all([runCommand('id', ['-u', name]), runCommand('id', ['-g', name])]);
  if (uid.code !== 0 || gid.code !== 0) return undefined;
  return { uid: Number(uid.output), gid: Number(gid.output), name };
}

/** Checks whether the account can enter a directory by trying it, since modes alone do not decide it (ACLs, mounts). */
export async function canEnter(directory: string, account: Account | undefined): Promise<boolean> {
  return (await runCommand('/bin/sh', ['-c', 'cd "$0"', directory], account)).code === 0;
}

/** Creates a directory that others can traverse, whatever the umask; existing directories stay unchanged. */
export async function makePassable(directory: string): Promise<void> {
  const path = resolve(directory);
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) await chmod(made, 0o755);
}
