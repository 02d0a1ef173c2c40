import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { DatabaseError, type Client } from 'pg';

import type { Logger } from '@heddle/base/log';
import type { Queryable, Statement } from './database.ts';
import { connect, isPooled, transactionSettings } from './pool-connection.ts';
import { asCallerError } from './pool-failure.ts';
import { withCodes } from './sql-names.ts';

const SQL_DIRECTORY = join(import.meta.dirname, 'sql');

export interface MigrateOptions {
  url: string;
  /** Directory with `migrations/NNNN_name.sql` and `functions/*.sql`. */
  directory?: string;
  log?: Logger;
}

export interface MigrateResult {
  /** Version found; 0 for an empty database. */
  from: number;
  /** Version reached. */
  to: number;
  /** File names of the migrations just applied. */
  applied: string[];
  functionsReplaced: boolean;
}

/** The database and the code do not match; the message names the remedy. */
export class MigrationError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MigrationError';
  }
}

interface SqlFile {
  name: string;
  text: string;
  checksum: string;
}

interface Migration extends SqlFile {
  version: number;
}

interface AppliedMigration {
  version: number;
  name: string;
  checksum: string;
}

/** Advisory lock key; any number unlikely to be used by others ("hedd" and "migr" in ASCII). */
const LOCK_KEY = '7522525896736499570';
const LOCK = `select pg_advisory_lock(${LOCK_KEY})`;
/** The same lock for one transaction, since a pooler may lend the session to others after it. */
const LOCK_TRANSACTION = `select pg_advisory_xact_lock(${LOCK_KEY})`;

const CREATE_BOOKS = `
create schema if not exists heddle;
create table if not exists heddle.schema_migration (
  version int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
);
create table if not exists heddle.schema_functions (
  only_row boolean primary key default true check (only_row),
  checksum text not null,
  signatures text[] not null
);`;

const APPLIED_MIGRATIONS = 'select version, name, checksum from heddle.schema_migration order by version';
const RECORD_MIGRATION = 'insert into heddle.schema_migration (version, name, checksum) values ($1, $2, $3)';
const FUNCTIONS_RECORD = 'select checksum from heddle.schema_functions';
const RECORD_FUNCTIONS = `
insert into heddle.schema_functions (checksum, signatures)
select $1, coalesce(array_agg(p.oid::regprocedure::text), '{}')
from pg_proc p
where p.pronamespace = 'heddle'::regnamespace and p.xmin = pg_current_xact_id()::xid
on conflict (only_row) do update set checksum = excluded.checksum, signatures = excluded.signatures`;

/** Functions that this transaction created, with what checks their bodies. */
const CREATED_FUNCTIONS = `
select p.proname as name, 'select ' || l.lanvalidator::regproc || '(' || p.oid || ')' as check
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'heddle'::regnamespace and p.xmin = pg_current_xact_id()::xid
order by p.oid`;

/** Drops the previous functions, so that no old overload remains; keeps those that tables or views depend on. */
const DROP_FUNCTIONS = `
do $$
declare signature text;
begin
  for signature in select unnest(signatures) from heddle.schema_functions loop
    if to_regprocedure(signature) is not null then
      begin
        execute 'drop routine ' || signature;
      exception when dependent_objects_still_exist then null;
      end;
    end if;
  end loop;
end $$`;

const HAS_BACKFILL = `select to_regprocedure('heddle.backfill_runs(integer)') is not null as exists`;
const BACKFILL = 'select heddle.backfill_runs($1) as runs';
/** Tasks that one transaction counts, about: some 100 ms. */
const BACKFILL_TASKS = 50_000;

const CURRENT_VERSION: Statement = {
  name: 'schema_version',
  text: 'select coalesce(max(version), 0) as version from heddle.schema_migration',
};
const HAS_BOOKS: Statement = {
  name: 'schema_exists',
  text: `select to_regclass('heddle.schema_migration') is not null as exists`,
};

/**
 * Migrates a database, which may be empty, to the version of this code: migrations in order, each in its own
 * transaction, then the functions if any of their files changed. Any number of processes may call it at once: one
 * works, the others wait and find nothing left to do. Through a pooler they alternate, one transaction each.
 *
 * @throws MigrationError if an applied migration was changed or the database is newer than the code
 * @throws HeddleError DATABASE_UNAVAILABLE
 */
export async function migrate({ url, directory = SQL_DIRECTORY, log }: MigrateOptions): Promise<MigrateResult> {
  const migrations = await readMigrations(directory);
  const functions = await readFunctions(directory);
  try {
    const client = await connect({ url, connectTimeoutMs: 10_000, applicationName: 'heddle migrate', pipeline: false });
    try {
      // The lock belongs to the session, so it also ends if this process is killed.
      if (!isPooled(client)) await client.query(LOCK);
      const from = await inTransaction(client, async () => {
        await client.query(CREATE_BOOKS);
        return verifyApplied(client, migrations);
      });
      const applied = await applyPending(client, migrations, from, log);
      const functionsReplaced = await replaceFunctions(client, functions, log);
      await backfill(client, log);
      return { from, to: migrations.at(-1)?.version ?? 0, applied, functionsReplaced };
    } finally {
      await client.end().catch(() => undefined);
    }
  } catch (error) {
    throw asCallerError(error);
  }
}

/** Returns the version of a database; 0 if it was never migrated. */
export async function currentVersion(database: Queryable): Promise<number> {
  const [books] = await database.query<{ exists: boolean }>(HAS_BOOKS);
  if (books?.exists !== true) return 0;
  const [row] = await database.query<{ version: number }>(CURRENT_VERSION);
  return row?.version ?? 0;
}

/** Returns the version that this code migrates to. */
export async function latestVersion(directory = SQL_DIRECTORY): Promise<number> {
  return (await readMigrations(directory)).at(-1)?.version ?? 0;
}

/** Returns SHA-256 over all `.sql` files: equal hashes mean equal schemas. */
export async function schemaHash(directory = SQL_DIRECTORY): Promise<string> {
  const files = [...(await readMigrations(directory)), ...(await readFunctions(directory))];
  return jointChecksum(files);
}

const FUNCTIONS_OF_DATABASE: Statement = {
  name: 'schema_functions',
  text: 'select checksum from heddle.schema_functions',
};

/** Returns whether the functions in the database are those of this code. */
export async function functionsMatch(queryable: Queryable, directory = SQL_DIRECTORY): Promise<boolean> {
  const files = await readFunctions(directory);
  const [row] = await queryable.query<{ checksum: string }>(FUNCTIONS_OF_DATABASE);
  return row?.checksum === jointChecksum(files);
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const files = await readSqlFiles(join(directory, 'migrations'));
  return files.map((file, index) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(file.name)?.[1]);
    if (version !== index + 1) {
      throw new MigrationError(
        `Migration ${file.name} is out of place: number ${index + 1} was expected (NNNN_name.sql)`,
      );
    }
    return { ...file, version };
  });
}

/** Defines composite types, which the heads of functions name. The order of the other files makes no difference. */
const TYPES_FILE = 'types.sql';

/** Reads the files of the functions, types first, with codes in place of their names. */
async function readFunctions(directory: string): Promise<SqlFile[]> {
  const files = await readSqlFiles(join(directory, 'functions'), withCodes);
  return files.sort((a, b) => Number(b.name === TYPES_FILE) - Number(a.name === TYPES_FILE));
}

async function readSqlFiles(directory: string, filled = (sql: string): string => sql): Promise<SqlFile[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  });
  const wanted = names.filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    wanted.map(async (name) => {
      // Line endings do not count, so that a checkout with other ones is the same migration.
      const text = filled((await readFile(join(directory, name), 'utf8')).replaceAll('\r\n', '\n'));
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

function jointChecksum(files: readonly SqlFile[]): string {
  const hash = createHash('sha256');
  for (const { name, checksum } of files) hash.update(`${name}:${checksum}\n`);
  return hash.digest('hex');
}

/** Checks that the database holds an unchanged prefix of the migrations, and returns its version. */
async function verifyApplied(client: Client, migrations: readonly Migration[]): Promise<number> {
  const { rows } = await client.query<AppliedMigration>(APPLIED_MIGRATIONS);
  const latest = migrations.at(-1)?.version ?? 0;
  const found = rows.at(-1)?.version ?? 0;
  if (found > latest) {
    throw new MigrationError(
      `The database is at schema version ${found} (${rows.at(-1)!.name}), but this Heddle knows versions up to ${latest}. ` +
        'Run a Heddle at least as new as the one that migrated it, or restore a backup from before that upgrade.',
    );
  }
  for (const [index, row] of rows.entries()) {
    const migration = migrations[index]!;
    if (row.version !== migration.version) {
      throw new MigrationError(
        `The database lacks migration ${migration.name} although later ones were applied. ` +
          'Restore a backup: its record of migrations was edited.',
      );
    }
    if (row.checksum !== migration.checksum) {
      throw new MigrationError(
        `Migration ${migration.name} was changed after it had been applied (as ${row.name}). ` +
          'Restore the file as it was and put the change into a new migration.',
      );
    }
  }
  return found;
}

async function applyPending(
  client: Client,
  migrations: readonly Migration[],
  from: number,
  log: Logger | undefined,
): Promise<string[]> {
  const applied: string[] = [];
  for (const migration of migrations.slice(from)) {
    const { version, name, checksum } = migration;
    const isNew = await inTransaction(client, async () => {
      // Another process may have migrated between two transactions.
      if (isPooled(client) && (await verifyApplied(client, migrations)) >= version) return false;
      await runFile(client, migration);
      await client.query(RECORD_MIGRATION, [version, name, checksum]);
      return true;
    });
    if (!isNew) continue;
    applied.push(name);
    log?.info({ version, migration: name }, 'migration applied');
  }
  return applied;
}

async function replaceFunctions(client: Client, files: readonly SqlFile[], log: Logger | undefined): Promise<boolean> {
  const checksum = jointChecksum(files);
  const replaced = await inTransaction(client, async () => {
    const { rows } = await client.query<{ checksum: string }>(FUNCTIONS_RECORD);
    if (rows[0]?.checksum === checksum || (rows.length === 0 && files.length === 0)) return false;
    await client.query(DROP_FUNCTIONS);
    // Functions may call functions of later files: their bodies are checked once all exist.
    await client.query('set local check_function_bodies = off');
    for (const file of files) await runFile(client, { ...file, name: `functions/${file.name}` });
    await checkFunctions(client, files);
    await client.query(RECORD_FUNCTIONS, [checksum]);
    return true;
  });
  if (replaced) log?.info({ files: files.length }, 'database functions replaced');
  return replaced;
}

/** Counts the tasks of runs from before their counts were kept: in transactions of bounded size, beside running servers. */
async function backfill(client: Client, log: Logger | undefined): Promise<void> {
  const { rows } = await client.query<{ exists: boolean }>(HAS_BACKFILL);
  if (rows[0]?.exists !== true) return;
  let counted = 0;
  for (;;) {
    const runs = await inTransaction(client, async () => {
      const answer = await client.query<{ runs: number }>(BACKFILL, [BACKFILL_TASKS]);
      return answer.rows[0]!.runs;
    });
    if (runs === 0) break;
    counted += runs;
    log?.info({ runs: counted }, 'counting the tasks of existing runs');
  }
}

async function checkFunctions(client: Client, files: readonly SqlFile[]): Promise<void> {
  await client.query('set local check_function_bodies = on');
  const { rows } = await client.query<{ name: string; check: string }>(CREATED_FUNCTIONS);
  for (const { name, check } of rows) {
    await client.query(check).catch((error: unknown) => {
      if (!(error instanceof DatabaseError)) throw error;
      const file = files.find(({ text }) => text.includes(`function ${name}(`));
      throw new MigrationError(`functions/${file?.name ?? '?'}, ${name}: ${error.message}`, error);
    });
  }
}

/** Runs one transaction; through a pooler with its own settings and lock. */
async function inTransaction<T>(client: Client, run: () => Promise<T>): Promise<T> {
  const own = `${transactionSettings({ statementTimeoutMs: 0, lockTimeoutMs: 0 })};${LOCK_TRANSACTION}`;
  await client.query(isPooled(client) ? `begin;${own}` : 'begin');
  try {
    const result = await run();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function runFile(client: Client, { name, text }: SqlFile): Promise<void> {
  try {
    await client.query(text);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    // PostgreSQL's position counts characters of the file; a line number is more useful.
    const line = error.position === undefined ? '' : `:${text.slice(0, Number(error.position)).split('\n').length}`;
    throw new MigrationError(`${name}${line}: ${error.message}`, error);
  }
}
