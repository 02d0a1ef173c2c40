/** PostgreSQL for tests: a shared server, a fresh database in milliseconds, and private servers to stop and kill. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from 'pg';

import { systemClock } from '@heddle/base/clock';
import { silentLogger } from '@heddle/base/log';
import { openDatabase, type Database, type DatabaseOptions } from '@heddle/core/store/database';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
} from '@heddle/core/store/embedded/server';
import { migrate, schemaHash } from '@heddle/core/store/migrate';
import { STRICT_CHECKS } from './strict-checks.ts';

export interface TestDatabase {
  url: string;
  name: string;
  /** A pool on it (10 connections, none warm); closed by `drop`. */
  database: Database;
  /** Drops it with everything connected to it; also done at the end of the test file. */
  drop(): Promise<void>;
}

export interface TestServer {
  readonly dataDir: string;
  /** Valid across `halt` and `start`. */
  readonly url: string;
  readonly server: EmbeddedPostgres;
  /** Stops PostgreSQL; the data stays. */
  halt(): Promise<void>;
  /** Starts it again on its data. */
  start(): Promise<void>;
  /** The end: stops it and removes its directory. */
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const TEMPLATE_LOCK = 'select pg_advisory_lock(727001)';

let serverUrl: Promise<string> | undefined;
let templates: Map<string, Promise<string>> | undefined;
let databasesMade = 0;
const leftToDrop = new Set<() => Promise<void>>();

// Registered here and not where a database is made: within a hook, `after` would mean the end of that hook. Scripts that
// import this module outside a test must not start the test runner.
if (process.env['NODE_TEST_CONTEXT'] !== undefined || /\.test\.[jt]s$/.test(process.argv[1] ?? '')) {
  after(() => Promise.all([...leftToDrop].map((drop) => drop())));
}

/** The server that tests share: the runner's (HEDDLE_TEST_DATABASE_URL), or one that is started for as long as needed. */
export function testDatabaseUrl(): Promise<string> {
  serverUrl ??= Promise.resolve(process.env['HEDDLE_TEST_DATABASE_URL'] ?? sharedServerUrl());
  return serverUrl;
}

/**
 * A database of its own for a test: a copy of a template that was migrated once, or an empty one with `empty: true`.
 * Dropped at the end of the test file at the latest.
 */
export async function createTestDatabase(
  options: Partial<DatabaseOptions> & { empty?: boolean; sqlDirectory?: string } = {},
): Promise<TestDatabase> {
  const { empty = false, sqlDirectory, ...databaseOptions } = options;
  const url = await testDatabaseUrl();
  const template = empty ? 'template0' : await migratedTemplate(url, sqlDirectory);
  databasesMade += 1;
  const name = `heddle_test_${process.pid}_${databasesMade}_${randomBytes(4).toString('hex')}`;
  // Copied as files: through the log it takes three times as much processor time.
  const create = `create database ${name} template ${template} strategy file_copy`;
  await onServer(url, (client) => client.query(create));
  const databaseUrl = withDatabase(url, name);
  const database = openTestDatabase(databaseUrl, databaseOptions);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    leftToDrop.delete(drop);
    dropped ??= database
      .close()
      .then(() => onServer(url, (client) => client.query(`drop database if exists ${name} with (force)`)));
    return dropped;
  };
  leftToDrop.add(drop);
  return { url: databaseUrl, name, database, drop };
}

/** A pool with the settings of tests; the caller closes it. */
export function openTestDatabase(url: string, options: Partial<DatabaseOptions> = {}): Database {
  return openDatabase({
    url,
    maxSize: 10,
    minIdle: 0,
    acquireRetries: 3,
    acquireTimeoutMs: 10_000,
    slowQueryMs: 10_000,
    clock: systemClock,
    log: silentLogger,
    ...options,
  });
}

/** A private server on a directory of its own, to be halted, killed and started at will; the caller stops it. */
export async function startTestServer(options: Partial<EmbeddedPostgresOptions> = {}): Promise<TestServer> {
  const dataDir = options.dataDir ?? databaseDirectory('heddle-server-');
  const launch = (): Promise<EmbeddedPostgres> =>
    startEmbeddedPostgres({ clock: systemClock, log: silentLogger, maxConnections: 200, ...options, dataDir });
  let server = await launch();
  return {
    dataDir,
    url: server.url,
    get server() {
      return server;
    },
    halt: () => server.stop(),
    start: async () => {
      server = await launch();
    },
    stop: async () => {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** A directory for the files of a database, in memory if those of the run's database are; the caller removes it. */
export function databaseDirectory(prefix: string): string {
  return temporaryDirectory(prefix, process.env['HEDDLE_TEST_DIRECTORY']);
}

/** A directory that also the database's user can enter; the caller removes it. */
export function temporaryDirectory(prefix: string, parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, prefix));
  chmodSync(directory, 0o755);
  return directory;
}

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

async function onServer(url: string, run: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await run(client);
  } finally {
    await client.end();
  }
}

function migratedTemplate(url: string, sqlDirectory: string | undefined): Promise<string> {
  templates ??= new Map();
  const key = sqlDirectory ?? '';
  const known = templates.get(key);
  if (known !== undefined) return known;
  const made = makeTemplate(url, sqlDirectory);
  templates.set(key, made);
  return made;
}

/** Builds the template under a draft's name and renames it, so that a half-migrated one is never copied. */
async function makeTemplate(url: string, directory: string | undefined): Promise<string> {
  const hash = (await schemaHash(directory)).slice(0, 16);
  const name = `heddle_template_${hash}`;
  await onServer(url, async (client) => {
    await client.query(TEMPLATE_LOCK);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount !== 0) return;
    const draft = `${name}_draft`;
    await client.query(`drop database if exists ${draft} with (force)`);
    await client.query(`create database ${draft} template template0`);
    await migrate({ url: withDatabase(url, draft), ...(directory === undefined ? {} : { directory }) });
    // A directory of its own may hold an earlier schema.
    if (directory === undefined) await onServer(withDatabase(url, draft), (own) => own.query(STRICT_CHECKS));
    await client.query(`alter database ${draft} rename to ${name}`);
  });
  return name;
}

/** Asks the keeper of the shared server, starting one where none answers; several may try, one wins. */
async function sharedServerUrl(): Promise<string> {
  const directory = join(tmpdir(), `heddle-test-postgres-${process.getuid?.() ?? 0}`);
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  const deadline = performance.now() + START_DEADLINE_MS;
  let keeperRuns = false;
  while (performance.now() < deadline) {
    const url = await askKeeper(join(directory, 'keeper.sock'));
    if (url !== undefined) return url;
    if (!keeperRuns) {
      keeperRuns = true;
      startKeeper(directory, () => (keeperRuns = false));
    }
    await sleep(50);
  }
  throw new Error(`The shared test database did not start; see ${join(directory, 'keeper.log')}`);
}

/** The socket stays open for as long as this process lives: that is how the keeper knows that it is needed. */
function askKeeper(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket: Socket = connectSocket(path);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (text.endsWith('\n')) {
        socket.unref();
        resolve(text.trim());
      }
    });
    socket.on('error', () => resolve(undefined));
    socket.on('close', () => resolve(undefined));
  });
}

function startKeeper(directory: string, onExit: () => void): void {
  const output = openSync(join(directory, 'keeper.log'), 'a');
  const keeper = spawn(process.execPath, [join(import.meta.dirname, 'postgres-keeper.ts'), directory], {
    detached: true,
    stdio: ['ignore', output, output],
  });
  keeper.unref();
  keeper.on('exit', onExit);
}
