import { createFindings } from '../engine/findings/findings.ts';
import type { Findings, ScanBooks } from '../engine/port.ts';
import { newId } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import type { SettingValues } from './settings.ts';

/** Returns the findings of a database, for scans in this process. */
export function findingsOf(database: Database, settings: SettingValues): Findings & ScanBooks {
  const { findingsKeepSecs, deleteAfterSecs } = settings;
  return createFindings({ database, newId, keepMs: findingsKeepSecs * 1000, chunksMs: deleteAfterSecs * 1000 });
}
