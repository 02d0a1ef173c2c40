import type { DatabaseOptions } from '../store/database.ts';
import type { SettingValues } from './settings.ts';

type ConnectionOptions = Pick<
  DatabaseOptions,
  'acquireRetries' | 'acquireTimeoutMs' | 'slowQueryMs' | 'statementTimeoutMs'
>;

/** What the settings say about connections, for every process that works on the database. */
export function databaseOptions(settings: SettingValues): ConnectionOptions {
  return {
    acquireRetries: settings.poolAcquireRetries,
    acquireTimeoutMs: settings.poolTimeoutSecs * 1000,
    slowQueryMs: settings.slowQueryThresholdMs,
    statementTimeoutMs: settings.statementTimeoutSecs * 1000,
  };
}
