import type { ModelBooks, Models, SharedData } from '@heddle/core/engine/port';
import type { Clock } from '@heddle/base/clock';
import type { KindDefinition } from '@heddle/kit';
import { filter } from './filter.ts';
import { insertData } from './insert-data.ts';
import { filterChanges, filterModels, listModels } from './list-models.ts';
import { upsertModels } from './upsert-models.ts';

export interface DataKindsOptions {
  models: ModelBooks & Models;
  shared: SharedData;
  clock: Clock;
}

/** Returns the kinds that move data within a workflow, and between workflows and models. They need the database. */
export function dataKinds({ models, shared, clock }: DataKindsOptions): KindDefinition[] {
  return [
    insertData({ shared }),
    filter({ shared, clock }),
    listModels({ models, clock }),
    filterModels({ models, clock }),
    filterChanges({ models, clock }),
    upsertModels({ books: models, shared, clock }),
  ];
}
