import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

import { eventually } from '../eventually.ts';
import { temporaryDirectory } from '../postgres.ts';
import { at, unusedPort } from './proxy.ts';

/** Why there is no PgBouncer here; null where there is. */
export function missingForBouncer(): string | null {
  const { status } = spawnSync('pgbouncer', ['--version'], { stdio: 'ignore' });
  return status === 0 ? null : 'pgbouncer (Debian: pgbouncer) is not installed: scripts/install-test-tools.sh';
}

/** PgBouncer before a server on a Unix socket. */
export interface Bouncer {
  /** The same database through it. */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startBouncer(databaseUrl: string, mode: 'transaction' | 'session'): Promise<Bouncer> {
  const directory = temporaryDirectory('heddle-bouncer-');
  const port = await unusedPort();
  const { searchParams, port: serverPort, username, password, pathname } = new URL(databaseUrl);
  const server = `host=${searchParams.get('host')!} port=${serverPort || '5432'} dbname=${pathname.slice(1)}`;
  const configuration = join(directory, 'pgbouncer.ini');
  const users = join(directory, 'users.txt');
  const log = join(directory, 'log');
  writeFileSync(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  writeFileSync(
    configuration,
    `[databases]
* = ${server} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 8
logfile = ${log}
`,
  );
  for (const file of [configuration, users]) chmodSync(file, 0o644);
  chmodSync(directory, 0o777);
  const child = spawn('pgbouncer', [...asUser(), configuration], { stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'));
      return answers(port);
    }, 'PgBouncer listens');
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: at(databaseUrl, port), stop };
}

/** It refuses to run as root, and reaches the server's socket only as its owner. */
function asUser(): string[] {
  return process.getuid?.() === 0 ? ['-u', 'postgres'] : [];
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
  }).then((isUp) => {
    socket.destroy();
    return isUp === true;
  });
}
