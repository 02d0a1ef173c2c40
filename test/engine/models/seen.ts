import type { JsonObject } from '../../../src/domain/json.ts';
import type { ModelRun, ReportedModel } from '../../../src/domain/model-record.ts';
import { createModels, type ModelsOptions } from '../../../src/engine/models/models.ts';
import type { ModelBooks, Models } from '../../../src/engine/models/port.ts';
import { newId } from '../../../src/runtime/random.ts';
import type { Database } from '../../../src/store/database.ts';

export function modelsOf(database: Database, options: Partial<ModelsOptions> = {}): Models & ModelBooks {
  return createModels({ database, newId, keepMs: 86_400_000, ...options });
}

/** A host by number. */
export function host(number: number, data: JsonObject = {}): ReportedModel {
  return { model: 'host', key: `10.0.${number >> 8}.${number & 255}`, data: { names: [], ...data } };
}

/** One whole run of hosts; returns what `finishRun` says. */
export async function runOf(
  books: ModelBooks,
  target: string,
  models: readonly ReportedModel[],
  { complete = true, covers = ['host'], id = newId() }: { complete?: boolean; covers?: string[]; id?: string } = {},
): Promise<ModelRun> {
  await books.beginRun(id, target);
  await books.merge(id, models);
  return books.finishRun(id, { complete, covers });
}
