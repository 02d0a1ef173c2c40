import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { isPostgresOf } from '@heddle/core/store/embedded/processes';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '@heddle/core/store/embedded/server';
import { poolPolicyOf } from './pool/policy.ts';
import type { SettingValues } from './settings.ts';

/** Connections beside the pool: maintenance, notifications, `heddle token` and similar commands. */
const SPARE_CONNECTIONS = 20;
/** Connections of each runner that is a process of this machine: its pool, and one for notifications. */
const RUNNER_CONNECTIONS = 4;
const CONNECTIONS_MIN = 60;

export function startEmbedded(settings: SettingValues, clock: Clock, log: Logger): Promise<EmbeddedPostgres> {
  const runners = settings.runnerProvider === 'process' ? poolPolicyOf(settings).max_runners : 0;
  const wanted = settings.poolMaxSize + SPARE_CONNECTIONS + runners * RUNNER_CONNECTIONS;
  const maxConnections = Math.max(CONNECTIONS_MIN, wanted);
  return startEmbeddedPostgres({ dataDir: settings.dataDir, clock, log, maxConnections });
}

export interface RunningDatabase {
  url: string;
  /** Process ID of the server. */
  pid: number;
}

/** Returns the embedded database of a data directory if a `heddle up` runs it now, else null. */
export async function findRunningDatabase(dataDir: string): Promise<RunningDatabase | null> {
  const cluster = await clusterDirectory(dataDir);
  const [pid, , , port, socketDirectory] = (await readText(join(cluster, 'postmaster.pid'))).split('\n');
  const secret = (await readText(join(dataDir, 'secret'))).trim();
  if (pid === undefined || !port || !socketDirectory || secret === '') return null;
  if (!isPostgresOf(Number(pid), cluster)) return null;
  const host = encodeURIComponent(socketDirectory);
  return { pid: Number(pid), url: `postgresql://heddle:${secret}@localhost:${port}/heddle?host=${host}` };
}

/** Returns whether an embedded database was ever created in this data directory. */
export async function hasDatabase(dataDir: string): Promise<boolean> {
  return existsSync(join(await clusterDirectory(dataDir), 'PG_VERSION'));
}

/** PostgreSQL's own directory: `location` names another place if its user could not reach the data directory. */
async function clusterDirectory(dataDir: string): Promise<string> {
  const elsewhere = (await readText(join(dataDir, 'location'))).trim();
  // The server's own arguments name the directory without symbolic links.
  const home = elsewhere === '' ? await realpath(dataDir).catch(() => dataDir) : elsewhere;
  return join(home, 'cluster');
}

/** Returns an empty string if the file cannot be read. */
function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
