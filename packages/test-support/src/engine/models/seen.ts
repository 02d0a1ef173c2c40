import type { JsonObject } from '@heddle/base/json';
import type { ModelRun, ReportedModel } from '@heddle/core/domain/model-record';
import { createModels, type ModelsOptions } from '@heddle/core/engine/models/models';
import type { ModelBooks, Models } from '@heddle/core/engine/models/port';
import { newId } from '@heddle/base/random';
import type { Database } from '@heddle/core/store/database';

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
