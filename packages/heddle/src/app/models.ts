import { createModels } from '@heddle/core/engine/models/models';
import type { ModelBooks, Models } from '@heddle/core/engine/port';
import { newId } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';
import type { SettingValues } from './settings.ts';

/** Returns the models of a database, for writers and readers in this process. */
export function modelsOf(database: Database, { modelsKeepSecs }: SettingValues): Models & ModelBooks {
  return createModels({ database, newId, keepMs: modelsKeepSecs * 1000 });
}
