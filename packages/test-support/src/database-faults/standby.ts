import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { Client } from 'pg';

import { silentLogger } from '@heddle/base/log';
import { findAccount } from '@heddle/core/store/embedded/account';
import { provideBinaries } from '@heddle/core/store/embedded/binaries';
import { CHILD_ENVIRONMENT, runAs } from '@heddle/core/store/embedded/processes';
import { eventually } from '../eventually.ts';
import { databaseDirectory, startTestServer, type TestServer } from '../postgres.ts';
import { at, unusedPort } from './proxy.ts';

/** A primary and a hot standby that streams from it. */
export interface Pair {
  readonly primary: TestServer;
  readonly primaryPort: number;
  readonly standbyPort: number;
  /** Of Heddle's role and database, over TCP. */
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /** Runs `work` while commits of the primary wait for a standby that confirms nothing. */
  whileStandbyIsSilent(work: () => Promise<void>): Promise<void>;
  /** Makes the standby a primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both on directories of their own; the caller stops them. */
export async function startPair(): Promise<Pair> {
  const [primaryPort, standbyPort] = [await unusedPort(), await unusedPort()];
  const primary = await startTestServer({ tcpPort: primaryPort });
  const adminUrl = at(primary.server.adminUrl, primaryPort);
  const directory = databaseDirectory('heddle-standby-');
  await primary.halt();
  execFileSync('cp', ['-a', primary.server.clusterDirectory, join(directory, 'cluster')]);
  await primary.start();
  const standby = await spawnStandby(directory, standbyPort, adminUrl);
  const standbyAdmin = at(adminUrl, standbyPort);
  const pair: Pair = {
    primary,
    primaryPort,
    standbyPort,
    primaryUrl: at(primary.url, primaryPort),
    standbyUrl: at(primary.url, standbyPort),
    async whileStandbyIsSilent(work) {
      await onServer(standbyAdmin, 'select pg_wal_replay_pause()');
      await configure(adminUrl, { synchronous_commit: 'remote_apply', synchronous_standby_names: 'standby' });
      await eventually(async () => (await syncState(adminUrl)) === 'sync', 'the standby is waited for');
      await work().finally(async () => {
        await configure(adminUrl, { synchronous_commit: 'on', synchronous_standby_names: '' });
        await onServer(standbyAdmin, 'select pg_wal_replay_resume()');
      });
    },
    promote: async () => {
      await onServer(standbyAdmin, 'select pg_promote()');
    },
    async stop() {
      await end(standby);
      await primary.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  try {
    await eventually(async () => {
      if (standby.exitCode !== null) throw new Error(readFileSync(join(directory, 'log'), 'utf8').slice(-2_000));
      const isUp = onServer(standbyAdmin, 'select 1').then(
        () => true,
        () => false,
      );
      return (await isUp) && (await syncState(adminUrl)) !== undefined;
    }, 'the standby streams');
  } catch (error) {
    await pair.stop();
    throw error;
  }
  return pair;
}

async function spawnStandby(directory: string, port: number, primaryUrl: string): Promise<ChildProcess> {
  const cluster = join(directory, 'cluster');
  const account = await findAccount(cluster, silentLogger);
  const { postgres } = await provideBinaries({ account, log: silentLogger });
  // With the owner and mode that PostgreSQL wants.
  execFileSync('cp', ['-a', join(cluster, 'PG_VERSION'), join(cluster, 'standby.signal')]);
  const { password, username, port: primaryPort } = new URL(primaryUrl);
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    primary_conninfo: `host=127.0.0.1 port=${primaryPort} user=${username} password=${password} application_name=standby`,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const log = openSync(join(directory, 'log'), 'a');
  return spawn(postgres, ['-D', cluster, ...args], {
    cwd: '/',
    env: CHILD_ENVIRONMENT,
    stdio: ['ignore', log, log],
    ...runAs(account),
  });
}

async function configure(adminUrl: string, settings: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(settings))
    await onServer(adminUrl, `alter system set ${name} = '${value}'`);
  await onServer(adminUrl, 'select pg_reload_conf()');
}

async function syncState(adminUrl: string): Promise<unknown> {
  return (await onServer(adminUrl, 'select sync_state from pg_stat_replication'))[0]?.['sync_state'];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGQUIT');
  await exited;
}

/** Statements with superuser rights, on a connection of their own. */
export async function onServer(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
