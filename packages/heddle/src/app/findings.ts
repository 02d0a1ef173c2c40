import { createFindings } from '@heddle/core/engine/findings/findings';
import type { Findings, ScanBooks } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import type { SettingValues } from './settings.ts';

/** Returns the findings of a database, for scans in this process. */
export function findingsOf(database: Database, settings: SettingValues): Findings & ScanBooks {
  const { findingsKeepSecs, deleteAfterSecs } = settings;
  return createFindings({ database, newId, keepMs: findingsKeepSecs * 1000, chunksMs: deleteAfterSecs * 1000 });
}
