import type { Logger } from '../runtime/log.ts';
import { systemClock } from '../runtime/clock.ts';
import { openDatabase, type Database } from '../store/database.ts';
import { migrate } from '../store/migrate.ts';
import { findRunningDatabase, hasDatabase, startEmbedded } from './embedded.ts';
import { CommandFailure } from './failure.ts';
import { requireSchema } from './schema-state.ts';
import { withoutPassword } from './setting.ts';
import type { SettingValues } from './settings.ts';

const CONNECT_TIMEOUT_MS = 10_000;

/** Where a command works: an own database, the one that a `heddle up` runs, or the embedded one started for a moment. */
export type DatabaseOrigin = 'DATABASE_URL' | 'running' | 'started';

export interface AccessOptions {
  settings: SettingValues;
  log: Logger;
  /** Whether an embedded database is made where there is none. */
  create: boolean;
}

/**
 * Runs `run` with the address of the configured database, which is started for that time where it is the embedded one
 * and nobody runs it.
 *
 * @throws CommandFailure where there is none and `create` is false
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
      `There is no database in ${settings.dataDir} yet: start \`heddle up\` once, or set HEDDLE_DATA_DIR or DATABASE_URL`,
    );
  }
  const server = await startEmbedded(settings, systemClock, log);
  try {
    return await run(server.url, 'started');
  } finally {
    await server.stop();
  }
}

/** Where migrations go: past a pooler where an address for that is known, which is one of `DATABASE_URL`. */
export function migrationUrlOf(
  { databaseUrl, listenUrl }: Pick<SettingValues, 'databaseUrl' | 'listenUrl'>,
  url: string,
): string {
  return databaseUrl === null ? url : (listenUrl ?? url);
}

/** The same with a small pool on a database whose schema fits this code; the embedded one is migrated where needed. */
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

/** A pool of few connections, for one command. */
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

/** The failure that a database which does not answer means. */
export function unreachable(url: string, error: unknown): CommandFailure {
  return new CommandFailure(`The database ${withoutPassword(url)} cannot be reached: ${rootReason(error)}`, {
    cause: error,
  });
}

/** What the innermost cause says. */
function rootReason(error: unknown): string {
  let found = error;
  while (found instanceof Error && found.cause !== undefined) found = found.cause;
  if (found instanceof AggregateError && found.message === '') return rootReason(found.errors[0]);
  return found instanceof Error ? found.message : String(found);
}
