import type { ReportedModel } from '../domain/model-record.ts';
import type { Queryable, Statement } from './database.ts';
import { nextAfter, type Marked } from './target-runs.ts';

const MERGE: Statement = {
  name: 'models.merge',
  text: `select merge_models($1, $2::jsonb)`,
};

const COVER: Statement = {
  name: 'models.cover',
  text: `insert into recon.model_cover as c (target_id, model, number, started_at)
    select r.target_id, m, r.number, r.started_at from recon.model_run r, unnest($2::text[]) m where r.id = $1
    order by m
    on conflict (target_id, model) do update set number = excluded.number, started_at = excluded.started_at
    where c.number < excluded.number`,
};

/**
 * Steps visit rows in the order of their ids, so that all steps together read each row once. The target is locked
 * first, as by merges: those go by key, and could otherwise deadlock with the marking.
 */
const MARK_GONE: Statement = {
  name: 'models.mark_gone',
  text: `with own as materialized (
      select t.id from recon.model_run r join recon.model_target t on t.id = r.target_id where r.id = $1 for update of t
    ), missed as (
      select m.id, c.number, c.started_at
      from own join recon.models m on m.target_id = own.id
      join recon.model_cover c on c.target_id = m.target_id and c.model = m.model
      where m.id > $2::uuid and m.state <> 'gone' and m.last_run < c.number
      order by m.id limit $3 for update of m
    ), marked as (
      update recon.models m set state = 'gone', gone_run = g.number, gone_at = g.started_at, changed_run = g.number,
        changed_at = g.started_at, previous = null, held = null
      from missed g where m.id = g.id returning m.id
    )
    select count(*) as n, max(id::text) as last from marked`,
};

const FINISH: Statement = {
  name: 'models.finish',
  text: `with counts as (
      select m.model,
        count(*) filter (where m.last_run = r.number and m.state = 'new') as new,
        count(*) filter (where m.last_run = r.number and m.state = 'changed') as changed,
        count(*) filter (where m.last_run = r.number and m.state = 'known') as known,
        count(*) filter (where m.gone_run = r.number) as gone
      from recon.model_run r join recon.models m on m.target_id = r.target_id
      where r.id = $1 and (m.last_run = r.number or m.gone_run = r.number)
      group by m.model
    ), totals as (
      select coalesce(sum(new), 0) as new, coalesce(sum(changed), 0) as changed, coalesce(sum(known), 0) as known,
        coalesce(sum(gone), 0) as gone,
        coalesce((select jsonb_agg(to_jsonb(x) order by x.model) from (select * from counts order by model limit $4) x), '[]')
          as by_model
      from counts
    )
    update recon.model_run r set ended_at = coalesce($3::timestamptz, clock_timestamp()), complete = $2,
      new_models = c.new, changed_models = c.changed, known_models = c.known, gone_models = c.gone, by_model = c.by_model
    from totals c where r.id = $1`,
};

/** Maximum number of models in a run's counts; records of further models are stored, too. */
const MODELS_MAX = 1000;

/** Merges one page, each record with an id in case it is new; the same key may occur several times. */
export async function mergeModels(
  queryable: Queryable,
  runId: string,
  models: readonly (ReportedModel & { id: string })[],
): Promise<void> {
  await queryable.query(MERGE, [runId, JSON.stringify(models)]);
}

/** Records that the run covered these models completely. */
export async function coverModels(queryable: Queryable, runId: string, models: readonly string[]): Promise<void> {
  await queryable.query(COVER, [runId, [...models]]);
}

/** Marks at most `limit` rows after `after` that the latest covering run has not seen; null: no more rows. */
export async function markGoneModels(
  queryable: Queryable,
  runId: string,
  after: string,
  limit: number,
): Promise<string | null> {
  const [marked] = await queryable.query<Marked>(MARK_GONE, [runId, after, limit]);
  return nextAfter(marked, limit);
}

/** Counts what the run saw and closes it. */
export async function finishModelRun(
  queryable: Queryable,
  runId: string,
  complete: boolean,
  now: string | null,
): Promise<void> {
  await queryable.query(FINISH, [runId, complete, now, MODELS_MAX]);
}
