import { migrate, type MigrateResult } from '@heddle/core/store/migrate';
import type { Configuration } from './config.ts';
import { migrationUrlOf, openSmall, requireReachable, withDatabaseUrl } from './database-access.ts';
import { commandLog } from './process-log.ts';
import { schemaState, type SchemaState } from './schema-state.ts';

/** Migrates the configured database, which may be empty, to the schema of this code. */
export function migrateConfigured({ values }: Configuration): Promise<MigrateResult> {
  const log = commandLog(values);
  return withDatabaseUrl({ settings: values, log, create: true }, async (url) => {
    const database = openSmall(url, log);
    await requireReachable(database, url).finally(() => database.close());
    return migrate({ url: migrationUrlOf(values, url), log });
  });
}

/** Reports the schema version of the configured database without changing it. */
export function migrationState({ values }: Configuration): Promise<SchemaState> {
  const log = commandLog(values);
  return withDatabaseUrl({ settings: values, log, create: false }, async (url) => {
    const database = openSmall(url, log);
    try {
      await requireReachable(database, url);
      return await schemaState(database);
    } finally {
      await database.close();
    }
  });
}
