import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { startEmbeddedPostgres } from '@heddle/core/store/embedded/server';
import { serverCpuMs } from './usage.ts';
import type { Usage } from './usage.ts';

interface ServerAddress {
  /** Credentials of a role that may create databases. */
  url: string;
  /** Credentials of a role that may force checkpoints, if there is one. */
  adminUrl: string;
  /** Process number of the server; null if it may run elsewhere. */
  pid: number | null;
  stop(): Promise<void>;
}

/** The PostgreSQL server that all its subjects share. */
export interface PostgresServer {
  version: string;
  /** Where it runs and how durable it is, for comparison. */
  description: string;
  /** Creates an empty database and returns its URL. Drops an older one of the same name. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Writes dirty pages, so that no round pays for the previous one. */
  checkpoint(): Promise<void>;
  /** One row, one commit, on a separate table; milliseconds each. */
  commitLatencies(samples: number): Promise<number[]>;
  /** Processor time and WAL of everything since the server's start. */
  usage(): Promise<Pick<Usage, 'server_cpu_ms' | 'wal_bytes'>>;
  stop(): Promise<void>;
}

/** Returns a free port. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Heddle's embedded server, on a temporary directory. */
async function startEmbedded(): Promise<ServerAddress> {
  const directory = await mkdtemp(join(tmpdir(), 'heddle-bench-postgres-'));
  const server = await startEmbeddedPostgres({ dataDir: directory, clock: systemClock, log: silentLogger });
  return {
    url: server.url,
    adminUrl: server.adminUrl,
    pid: server.pid,
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Opens the server of `HEDDLE_BENCH_DATABASE_URL`, else starts the embedded one. */
export async function openPostgres(configuredUrl: string | undefined): Promise<PostgresServer> {
  const server: ServerAddress =
    configuredUrl === undefined
      ? await startEmbedded()
      : { url: configuredUrl, adminUrl: configuredUrl, pid: null, stop: () => Promise.resolve() };
  const owner = new pg.Client({ connectionString: server.url });
  const admin = new pg.Client({ connectionString: server.adminUrl });
  await owner.connect();
  await admin.connect();
  const show = async (setting: string): Promise<string> => {
    const { rows } = await admin.query<Record<string, string>>(`show ${setting}`);
    return rows[0]![setting]!;
  };
  const dropDatabase = async (name: string): Promise<void> => {
    await owner.query(`drop database if exists ${admin.escapeIdentifier(name)} with (force)`);
  };
  const settings = ['fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size'];
  const shown: string[] = [];
  for (const setting of settings) shown.push(`${setting} ${await show(setting)}`);
  return {
    version: await show('server_version'),
    description: `${configuredUrl === undefined ? 'embedded' : 'HEDDLE_BENCH_DATABASE_URL'}; ${shown.join(', ')}`,
    async createDatabase(name) {
      await dropDatabase(name);
      await owner.query(`create database ${admin.escapeIdentifier(name)}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.toString();
    },
    dropDatabase,
    async checkpoint() {
      // Not every user may; without it the rounds are only slightly noisier.
      await admin.query('checkpoint').catch(() => undefined);
    },
    async commitLatencies(samples) {
      await owner.query('create table if not exists heddle_bench_probe (at timestamptz)');
      const latencies: number[] = [];
      for (let sample = 0; sample < samples; sample++) {
        const startedAt = performance.now();
        await owner.query('insert into heddle_bench_probe values (now())');
        latencies.push(performance.now() - startedAt);
      }
      await owner.query('drop table heddle_bench_probe');
      return latencies;
    },
    async usage() {
      const { rows } = await admin.query<{ bytes: string }>("select pg_current_wal_insert_lsn() - '0/0' as bytes");
      return { server_cpu_ms: server.pid === null ? null : serverCpuMs(server.pid), wal_bytes: Number(rows[0]!.bytes) };
    },
    async stop() {
      await owner.end();
      await admin.end();
      await server.stop();
    },
  };
}
