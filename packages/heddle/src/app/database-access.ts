import type { Logger } from '@heddle/base/log';
import { systemClock } from '@heddle/base/clock';
import { messageOf } from '@heddle/base/thrown';
import { openDatabase, type Database } from '@heddle/core/store/database';
import { migrate } from '@heddle/core/store/migrate';
import { findRunningDatabase, hasDatabase, startEmbedded } from './embedded.ts';
import { CommandFailure } from '@heddle/base/terminal/failure';
import { requireSchema } from './schema-state.ts';
import { withoutPassword } from './setting.ts';
import type { SettingValues } from './settings.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The database a command works on: the configured one, the embedded one of a running `heddle up`, or the embedded one
 * started for the duration of the command.
 */
export type DatabaseOrigin = 'DATABASE_URL' | 'running' | 'started';

export interface AccessOptions {
  settings: SettingValues;
  log: Logger;
  /** Whether to create the embedded database if there is none. */
  create: boolean;
}

/**
 * Calls `run` with the address of the configured database. Starts the embedded database for that time if no process
 * runs it.
 * @throws CommandFailure if there is none and `create` is false
 */
export async function withDatabaseUrl<T>(
  { settings, log, create }: AccessOptions,
  run: (url: string, origin: DatabaseOrigin) => Promise<T>,
): Promise<T> {
  if (settings.databaseUrl !== null) return run(settings.databaseUrl, 'DATABASE_URL');
  const running = await findRunningDatabase(settings.dataDir);
  if (running !== null) return run(running.url, 'running');
  if (!create && !(await hasDatabase(settings.dataDir))) {
    throw new CommandFailure(
      `There is no database in ${settings.dataDir} yet: run \`heddle up\` once, or set HEDDLE_DATA_DIR or DATABASE_URL`,
    );
  }
  const server = await startEmbedded(settings, systemClock, log);
  try {
    return await run(server.url, 'started');
  } finally {
    await server.stop();
  }
}

/** Address for migrations: past a pooler if `DATABASE_URL` has an address that bypasses it. */
export function migrationUrlOf(
  { databaseUrl, listenUrl }: Pick<SettingValues, 'databaseUrl' | 'listenUrl'>,
  url: string,
): string {
  return databaseUrl === null ? url : (listenUrl ?? url);
}

/** Does the same with a small pool on a database whose schema fits this code; migrates the embedded one if needed. */
export function withDatabase<T>(options: AccessOptions, run: (database: Database) => Promise<T>): Promise<T> {
  return withDatabaseUrl(options, async (url, origin) => {
    if (origin === 'started') await migrate({ url, log: options.log });
    const database = openSmall(url, options.log);
    try {
      await requireReachable(database, url);
      await requireSchema(database);
      return await run(database);
    } finally {
      await database.close();
    }
  });
}

/** A pool of a few connections for one command. */
export function openSmall(url: string, log: Logger): Database {
  return openDatabase({
    url,
    maxSize: 2,
    minIdle: 0,
    acquireRetries: 1,
    acquireTimeoutMs: CONNECT_TIMEOUT_MS,
    slowQueryMs: 60_000,
    clock: systemClock,
    log,
  });
}

/** @throws CommandFailure that names the database and why it does not answer */
export async function requireReachable(database: Database, url: string): Promise<void> {
  try {
    await database.ping();
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** Returns the failure to report for a database that does not answer. */
function unreachable(url: string, error: unknown): CommandFailure {
  return new CommandFailure(`The database ${withoutPassword(url)} is unreachable: ${rootReason(error)}`, {
    cause: error,
  });
}

/** Returns the message of the innermost cause. */
function rootReason(error: unknown): string {
  let found = error;
  while (found instanceof Error && found.cause !== undefined) found = found.cause;
  if (found instanceof AggregateError && found.message === '') return rootReason(found.errors[0]);
  return messageOf(found);
}
