import type { JsonObject } from '@heddle/base/json';
import { changesBetween, type ModelFilter, type ModelRun, type TrackedModel } from '../domain/model-record.ts';
import type { Queryable, Statement } from './database.ts';
import { FilteredList } from './filtered-list.ts';
import { TargetRuns } from './target-runs.ts';

const MODEL_COLUMNS = `m.id, t.name as target, m.model, m.key, m.data, m.state, m.runs, m.first_seen, m.last_seen,
  m.changed_at, m.gone_at, m.first_run, m.last_run, m.changed_run, m.previous`;

export const modelRuns = new TargetRuns<ModelRun>({
  name: 'models',
  targets: 'recon.model_target',
  runs: 'recon.model_run',
  rows: 'recon.models',
  runColumns: `r.id, t.name as target, r.number, r.started_at, r.ended_at, r.complete,
    r.new_models as new, r.changed_models as changed, r.known_models as known, r.gone_models as gone, r.by_model`,
});

const GET_MODEL: Statement = {
  name: 'models.get',
  text: `select ${MODEL_COLUMNS} from recon.models m join recon.model_target t on t.id = m.target_id where m.id = $1`,
};

/** A complete run counts even if nothing was left to see. */
const LIST_LATEST: Statement = {
  name: 'models.list_latest_runs',
  text: `select t.name as target, x.model, max(x.number) as number
    from (select target_id, model, number from recon.model_cover
      union all
      select r.target_id, b.model, r.number from recon.model_run r, jsonb_to_recordset(r.by_model) b(model text)) x
    join recon.model_target t on t.id = x.target_id
    where ($1::text is null or t.name = $1) and ($2::text is null or x.model = $2)
    group by t.name, x.model`,
};

const LIST_CHANGES: Statement = {
  name: 'models.list_changes',
  text: `select ${MODEL_COLUMNS}
    from recon.model_run r join recon.model_target t on t.id = r.target_id
    join recon.models m on m.target_id = r.target_id and m.changed_run = r.number
    where r.id = $1 order by m.id limit $2`,
};

const list = new FilteredList({
  name: 'models.list',
  table: 'recon.models',
  alias: 'm',
  columns: MODEL_COLUMNS,
  targets: 'recon.model_target',
  conditions: {
    after: (at) => `m.id < ${at}::uuid`,
    target: (at) => `m.target_id = (select id from recon.model_target where name = ${at})`,
    model: (at) => `m.model = ${at}`,
    states: (at) => `m.state = any(${at}::text[])`,
    key: (at) => `m.key >= ${at} collate "C" and m.key < ${at} || chr(1114111) and starts_with(m.key, ${at})`,
    changed_since: (at) => `m.changed_at >= ${at}::timestamptz`,
    search: (at) => `model_contains(m.key, m.data, ${at}::text)`,
  },
});

type ModelRow = Omit<TrackedModel, 'changes'> & { previous: JsonObject | null };

function modelOf({ previous, ...row }: ModelRow): TrackedModel {
  return { ...row, changes: changesBetween(previous, row.data) };
}

export async function findModel(queryable: Queryable, id: string): Promise<TrackedModel | null> {
  const [row] = await queryable.query<ModelRow>(GET_MODEL, [id]);
  return row === undefined ? null : modelOf(row);
}

/** Returns records, newest first, at most `limit` after the one with the id `after`. */
export async function listModels(
  queryable: Queryable,
  filter: ModelFilter,
  after: string | null,
  limit: number,
): Promise<TrackedModel[]> {
  const { target, model, states, key_prefix, changed_since, search } = filter;
  const given = {
    after,
    target,
    model,
    states: states === undefined ? undefined : [...states],
    key: key_prefix === '' ? undefined : key_prefix,
    changed_since: changed_since === undefined ? undefined : new Date(changed_since).toISOString(),
    search: search === '' ? undefined : search,
  };
  return (await list.read<ModelRow>(queryable, given, limit)).map(modelOf);
}

/** Returns what was new, changed or gone in a run and still is, in the order in which it was first seen. */
export async function listRunChanges(queryable: Queryable, runId: string, limit: number): Promise<TrackedModel[]> {
  return (await queryable.query<ModelRow>(LIST_CHANGES, [runId, limit])).map(modelOf);
}

/** Returns the latest run of each target that saw, missed or covered a model; null: any model. */
export function listLatestRuns(
  queryable: Queryable,
  target: string | null,
  model: string | null,
): Promise<{ target: string; model: string; number: number }[]> {
  return queryable.query(LIST_LATEST, [target, model]);
}
