import { HeddleError } from '../../domain/errors.ts';
import type { ModelRun, ReportedModel } from '../../domain/model-record.ts';
import type { Database } from '../../store/database.ts';
import { countTasksBefore, findChunk, putChunk } from '../../store/scan-chunks.ts';
import { findModel, listLatestRuns, listModels, listModelTargets, listRunChanges } from '../../store/model-reads.ts';
import {
  coverModels,
  deleteOldModels,
  findModelRun,
  finishModelRun,
  insertModelRun,
  markGoneModels,
  mergeModels,
  type NumberedModelRun,
} from '../../store/models.ts';
import type { ModelBooks, Models, RunEnding } from './port.ts';
import { requireReportable } from './reportable.ts';

export interface ModelsOptions {
  database: Database;
  readonly newId: () => string;
  /** The moment that statements work with: null lets the database say, so that servers need not agree on the time. */
  readonly now?: () => string | null;
  /** How long what is gone is kept, and the books of old runs. */
  keepMs: number;
}

/** Rows that one statement merges or marks. */
const PAGE_ROWS = 1000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The models of one database. */
export function createModels(options: ModelsOptions): Models & ModelBooks {
  const { database, keepMs } = options;
  const now = options.now ?? (() => null);
  return {
    list: (filter, { after, limit }) => listModels(database, filter, after, limit),
    get: (id) => findModel(database, id),
    targets: (page) => listModelTargets(database, page),
    latestRuns: ({ target, model }) => listLatestRuns(database, target ?? null, model ?? null),
    retain: (limit) => deleteOldModels(database, keepMs, limit, now()),
    putChunk: (key, records) => putChunk(database, key, records, now()),
    readChunk: (key) => findChunk(database, key),
    countTasksBefore: (id, kinds) => countTasksBefore(database, id, kinds),
    beginRun: (id, target) => begin(options, id, target),
    merge: (id, models) => merge(options, id, models),
    finishRun: (id, ending) => finish(options, id, ending),
    runChanges: (id, limit) => listRunChanges(database, id, limit),
  };
}

async function begin(
  { database, now }: ModelsOptions,
  id: string,
  target: string,
): Promise<{ open: boolean; run: ModelRun }> {
  await database.transaction((tx) => insertModelRun(tx, id, target, now?.() ?? null));
  const { latest, ...run } = await requireRun(database, id);
  if (run.target !== target) {
    throw new HeddleError('CONFLICT', `The run ${id} is one of ${run.target}, not of ${target}`);
  }
  return { open: latest || run.ended_at === null, run };
}

async function merge({ database, newId }: ModelsOptions, id: string, models: readonly ReportedModel[]): Promise<void> {
  requireReportable(models);
  if (models.length > 0) await requireRun(database, id);
  for (let at = 0; at < models.length; at += PAGE_ROWS) {
    const page = models.slice(at, at + PAGE_ROWS);
    await mergeModels(
      database,
      id,
      page.map(({ model, key, data }) => ({ id: newId(), model, key, data })),
    );
  }
}

/**
 * The covering run is written down first: from then on every run of the target, also one that was begun before and ends
 * later, marks what the covering one has missed.
 */
async function finish(
  { database, now }: ModelsOptions,
  id: string,
  { complete, covers }: RunEnding,
): Promise<ModelRun> {
  if (complete && covers.length > 0) await coverModels(database, id, covers);
  for (let after: string | null = FIRST_ID; after !== null;)
    after = await markGoneModels(database, id, after, PAGE_ROWS);
  await finishModelRun(database, id, complete, now?.() ?? null);
  const { latest: _, ...run } = await requireRun(database, id);
  return run;
}

async function requireRun(database: Database, id: string): Promise<NumberedModelRun> {
  const run = await findModelRun(database, id);
  if (run === null) throw new HeddleError('NOT_FOUND', `There is no run ${id}`);
  return run;
}
