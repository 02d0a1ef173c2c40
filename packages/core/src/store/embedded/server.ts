import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { escapeLiteral } from 'pg';

import type { Clock } from '@heddle/base/clock';
import type { Logger } from '@heddle/base/log';
import { systemRandom, type Random } from '@heddle/base/random';
import { connect } from '../pool-connection.ts';
import { makePassable } from './account.ts';
import { provideBinaries } from './binaries.ts';
import { ADMIN_ROLE, layOut, prepareCluster, provideSecret, type Layout } from './cluster.ts';
import { takeOwnership } from './ownership.ts';
import { launch, stopOrphan, type LaunchOptions, type Postmaster } from './postmaster.ts';
import { Watchdog } from './watchdog.ts';

export interface EmbeddedPostgresOptions {
  /** Created if missing; holds everything, or names the actual location. */
  dataDir: string;
  clock: Clock;
  log: Logger;
  random?: Random;
  /** Also listens on this port of 127.0.0.1; only on the Unix socket by default. */
  tcpPort?: number;
  maxConnections?: number;
  /** False loses data on a power failure; for test databases only. */
  fsync?: boolean;
  /** The platform package with the binaries; found among the dependencies by default. */
  packageDirectory?: string;
}

export interface EmbeddedPostgres {
  /** URL of Heddle's role and database over the Unix socket. It stays valid when the server is restarted. */
  readonly url: string;
  /** The same with superuser rights, for maintenance. */
  readonly adminUrl: string;
  /** Directory of PostgreSQL's files. */
  readonly clusterDirectory: string;
  readonly version: string;
  /** Current process number of the server; 0 while it restarts. */
  readonly pid: number;
  readonly watchdogPid: number | undefined;
  /** True if a server of a killed Heddle process was running and had to be stopped first. */
  readonly replacedOrphan: boolean;
  /** Stops the server (fast) and resolves when its process is gone. */
  stop(): Promise<void>;
}

const ROLE = 'heddle';
const DATABASE = 'heddle';
const RESTART_WAIT_MS = { first: 200, max: 5_000 };

const ROLE_EXISTS = 'select 1 from pg_roles where rolname = $1';
const DATABASE_EXISTS = 'select 1 from pg_database where datname = $1';
const GRANT_MONITOR = `grant pg_monitor, pg_signal_backend to ${ROLE}`;
const CREATE_DATABASE = `create database ${DATABASE} owner ${ROLE}`;

/**
 * Starts an embedded PostgreSQL on `dataDir` and keeps it running: restarts a server that dies. If this process is
 * killed, a watchdog stops the server; the next start stops one that is still running.
 *
 * @throws EmbeddedPostgresError if another live process uses the directory, or the server cannot run on this machine
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  await makePassable(options.dataDir);
  const disown = await takeOwnership(options.dataDir);
  try {
    return await startOwned(options, disown);
  } catch (error) {
    await disown();
    throw error;
  }
}

async function startOwned(options: EmbeddedPostgresOptions, disown: () => Promise<void>): Promise<EmbeddedPostgres> {
  const { clock, log, random = systemRandom, tcpPort, maxConnections = 100, fsync = true } = options;
  const port = tcpPort ?? 5432;
  const layout = await layOut(options.dataDir, port, log);
  const secret = await provideSecret(layout.dataDir, random);
  const { packageDirectory } = options;
  const found = { account: layout.account, log, ...(packageDirectory === undefined ? {} : { packageDirectory }) };
  const binaries = await provideBinaries(found);
  const replacedOrphan = await stopOrphan(layout.cluster, clock, log);
  const { socketDirectory } = layout;
  const settings = { socketDirectory, port, tcp: tcpPort !== undefined, maxConnections, fsync };
  await prepareCluster(layout, binaries, settings, secret);
  const address = { socketDirectory, port, secret };
  const urls = { url: urlOf(ROLE, DATABASE, address), adminUrl: urlOf(ADMIN_ROLE, 'postgres', address) };
  const server = new SupervisedServer(
    { layout, postgres: binaries.postgres, adminUrl: urls.adminUrl, clock, log },
    disown,
  );
  await server.start(secret);
  log.info({ pid: server.pid, data_dir: layout.cluster, version: binaries.version }, 'embedded database started');
  return Object.assign(server, {
    ...urls,
    clusterDirectory: layout.cluster,
    version: binaries.version,
    replacedOrphan,
  });
}

/** As the `host` parameter, `pg`, `postgres` and libpq all accept the directory of a Unix socket. */
function urlOf(role: string, database: string, at: { socketDirectory: string; port: number; secret: string }): string {
  const host = encodeURIComponent(at.socketDirectory);
  return `postgresql://${role}:${at.secret}@localhost:${at.port}/${database}?host=${host}`;
}

type SupervisionOptions = Omit<LaunchOptions, 'onSpawn' | 'signal'>;

class SupervisedServer {
  readonly #options: SupervisionOptions;
  readonly #disown: () => Promise<void>;
  readonly #watchdog: Watchdog;
  readonly #stopping = new AbortController();
  #postmaster: Postmaster | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: SupervisionOptions, disown: () => Promise<void>) {
    this.#options = options;
    this.#disown = disown;
    this.#watchdog = new Watchdog(options.layout.cluster, options.layout.account, options.log);
  }

  get pid(): number {
    return this.#postmaster?.pid ?? 0;
  }

  get watchdogPid(): number | undefined {
    return this.#watchdog.pid;
  }

  async start(secret: string): Promise<void> {
    try {
      await this.#launch();
      await provideDatabase(this.#options.adminUrl, secret);
    } catch (error) {
      await this.#shutDown();
      throw error;
    }
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#shutDown().then(async () => {
      await removeOuterSocketDirectory(this.#options.layout);
      await this.#disown();
    });
    return this.#stopped;
  }

  async #shutDown(): Promise<void> {
    this.#stopping.abort();
    await this.#restarting;
    await this.#postmaster?.stop();
    this.#watchdog.dismiss();
  }

  async #launch(): Promise<void> {
    const onSpawn = (pid: number): void => this.#watchdog.guard(pid);
    const postmaster = await launch({ ...this.#options, onSpawn, signal: this.#stopping.signal });
    this.#postmaster = postmaster;
    void postmaster.ended.then((how) => {
      this.#postmaster = undefined;
      if (this.#stopping.signal.aborted) return;
      this.#options.log.error({ pid: postmaster.pid, how }, 'embedded database died; restarting it');
      this.#restarting = this.#restart();
    });
  }

  #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Retries for as long as this process lives, since the cause, such as a full disk, may pass. */
  async #restart(): Promise<void> {
    const { clock, log } = this.#options;
    for (let waitMs = RESTART_WAIT_MS.first; !this.#stopping.signal.aborted;) {
      try {
        await this.#launch();
        log.info({ pid: this.pid }, 'embedded database restarted');
        return;
      } catch (error) {
        if (this.#isStopping()) return;
        log.error({ err: error }, 'embedded database could not be restarted; retrying');
        await clock.sleep(waitMs, this.#stopping.signal);
        waitMs = Math.min(waitMs * 2, RESTART_WAIT_MS.max);
      }
    }
  }
}

/** Heddle uses a role without superuser rights that may create databases. */
async function provideDatabase(adminUrl: string, secret: string): Promise<void> {
  const client = await connect({ url: adminUrl, connectTimeoutMs: 10_000, pipeline: false });
  try {
    if ((await client.query(ROLE_EXISTS, [ROLE])).rowCount === 0) {
      await client.query(`create role ${ROLE} login createdb password ${escapeLiteral(secret)}`);
    }
    await client.query(GRANT_MONITOR);
    if ((await client.query(DATABASE_EXISTS, [DATABASE])).rowCount === 0) await client.query(CREATE_DATABASE);
  } finally {
    await client.end();
  }
}

async function removeOuterSocketDirectory({ socketDirectory, cluster }: Layout): Promise<void> {
  if (socketDirectory !== join(cluster, '..', 'socket')) await rm(socketDirectory, { recursive: true, force: true });
}
