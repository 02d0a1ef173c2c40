import type { ReportedModel } from '../../domain/model-record.ts';
import { findModel, listLatestRuns, listModels, listRunChanges, modelRuns } from '../../store/model-reads.ts';
import { coverModels, finishModelRun, markGoneModels, mergeModels } from '../../store/models.ts';
import { findChunk, putChunk } from '../../store/scan-chunks.ts';
import { countTasksBefore } from '../../store/tasks-before.ts';
import { BOOK_ROWS, RunRepository, type BooksOptions } from '../run-repository.ts';
import type { ModelBooks, Models } from './port.ts';
import { requireReportable } from './reportable.ts';

export interface ModelsOptions extends BooksOptions {
  readonly newId: () => string;
  /** Retention of gone records and of old runs. */
  keepMs: number;
}

/** Models of one database. */
export function createModels(options: ModelsOptions): Models & ModelBooks {
  const { database, keepMs } = options;
  const now = options.now ?? (() => null);
  const runs = new RunRepository(options, modelRuns, { markGone: markGoneModels, finish: finishModelRun });
  return {
    list: (filter, { after, limit }) => listModels(database, filter, after, limit),
    get: (id) => findModel(database, id),
    targets: (page) => modelRuns.targets(database, page),
    latestRuns: ({ target, model }) => listLatestRuns(database, target ?? null, model ?? null),
    retain: (limit) => modelRuns.deleteOld(database, keepMs, limit, now()),
    putChunk: (key, records) => putChunk(database, key, records, now()),
    readChunk: (key) => findChunk(database, key),
    countTasksBefore: (id, kinds) => countTasksBefore(database, id, kinds),
    beginRun: (id, target) => runs.begin(id, target),
    merge: async (id, models) => {
      requireReportable(models);
      if (models.length > 0) await runs.require(id);
      await merge(options, id, models);
    },
    finishRun: async (id, { complete, covers }) => {
      if (complete && covers.length > 0) await coverModels(database, id, covers);
      return runs.finish(id, complete);
    },
    runChanges: (id, limit) => listRunChanges(database, id, limit),
  };
}

async function merge({ database, newId }: ModelsOptions, id: string, models: readonly ReportedModel[]): Promise<void> {
  for (let at = 0; at < models.length; at += BOOK_ROWS) {
    const page = models.slice(at, at + BOOK_ROWS);
    await mergeModels(
      database,
      id,
      page.map(({ model, key, data }) => ({ id: newId(), model, key, data })),
    );
  }
}
