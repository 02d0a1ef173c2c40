import { createModels } from '../engine/models/models.ts';
import type { ModelBooks, Models } from '../engine/port.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/log.ts';
import { Loop } from '../runtime/loop.ts';
import { newId } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import type { SettingValues } from './settings.ts';
import type { StopSequence } from './stop-sequence.ts';

const RETENTION_INTERVAL_MS = 600_000;
const RETENTION_ROWS = 5_000;

/** The models of a database, for whoever fills or reads them in this process. */
export function modelsOf(database: Database, settings: SettingValues): Models & ModelBooks {
  const { modelsKeepSecs, deleteAfterSecs } = settings;
  return createModels({ database, newId, keepMs: modelsKeepSecs * 1000, chunksMs: deleteAfterSecs * 1000 });
}

/** The models of a server, which also deletes what is old of them. */
export function startModels(base: {
  database: Database;
  settings: SettingValues;
  clock: Clock;
  log: Logger;
  stopping: StopSequence;
}): Models & ModelBooks {
  const { database, settings, clock, log, stopping } = base;
  const models = modelsOf(database, settings);
  const runOnce = async (): Promise<'idle'> => {
    await models.retain(RETENTION_ROWS);
    return 'idle';
  };
  const loop = new Loop({ name: 'models retention', intervalMs: RETENTION_INTERVAL_MS, clock, log, runOnce });
  loop.start();
  stopping.add('the retention of models', () => loop.stop());
  return models;
}
