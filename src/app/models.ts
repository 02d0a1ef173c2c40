import { createModels } from '../engine/models/models.ts';
import type { ModelBooks, Models } from '../engine/port.ts';
import { newId } from '../runtime/random.ts';
import type { Database } from '../store/database.ts';
import type { SettingValues } from './settings.ts';

/** Returns the models of a database, for writers and readers in this process. */
export function modelsOf(database: Database, { modelsKeepSecs }: SettingValues): Models & ModelBooks {
  return createModels({ database, newId, keepMs: modelsKeepSecs * 1000 });
}
