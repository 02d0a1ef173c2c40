import { attemptsBefore, recoverAttempts } from '@heddle/core/store/recovery';
import type { Configuration } from './config.ts';
import { withDatabase } from './database-access.ts';
import { ConfigurationError } from '@heddle/base/terminal/failure';
import { commandLog } from './process-log.ts';

export interface Recovery {
  /** Attempts that were opened before the given time. */
  attempts: number;
  /** False if they were only counted. */
  requeued: boolean;
}

/** Requeues attempts of the configured database that were opened before a time, or counts them. */
export function recover({ values }: Configuration, before: string, checkOnly: boolean): Promise<Recovery> {
  const beforeMs = parseTime(before);
  return withDatabase({ settings: values, log: commandLog(values), create: false }, async (database) =>
    checkOnly
      ? { attempts: await attemptsBefore(database, beforeMs), requeued: false }
      : { attempts: await recoverAttempts(database, beforeMs), requeued: true },
  );
}

function parseTime(text: string): number {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new ConfigurationError([
    `--before: must be a date or a time such as 2030-01-31T12:00:00Z, not ${JSON.stringify(text)}`,
  ]);
}
