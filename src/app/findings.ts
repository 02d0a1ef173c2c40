import { createFindings } from '../engine/findings/findings.ts';
import type { Findings, ScanBooks } from '../engine/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import { newId } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';

const RETENTION_INTERVAL_MS = 600_000;
const RETENTION_ROWS = 5_000;

/** The findings of a database, for whoever scans in this process. */
export function findingsOf(database: Database, settings: SettingValues): Findings & ScanBooks {
  const { findingsKeepSecs, deleteAfterSecs } = settings;
  return createFindings({ database, newId, keepMs: findingsKeepSecs * 1000, chunksMs: deleteAfterSecs * 1000 });
}

/** The findings of a server, which also deletes what is old of them. */
export function startFindings(base: {
  database: Database;
  settings: SettingValues;
  clock: Clock;
  log: Logger;
  stopping: StopSequence;
}): Findings & ScanBooks {
  const { database, settings, clock, log, stopping } = base;
  const findings = findingsOf(database, settings);
  const runOnce = async (): Promise<'idle'> => {
    await findings.retain(RETENTION_ROWS);
    return 'idle';
  };
  const loop = new Loop({ name: 'findings retention', intervalMs: RETENTION_INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the retention of findings', () => loop.stop());
  return findings;
}
