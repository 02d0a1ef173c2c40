import type { KindDescription } from '@heddle/base/vocabulary/kind';
import type { Queryable, Statement } from './database.ts';

/** A worker counts for a minute, as in reads_queue. */
const COLUMNS = `n.name, d.description, d.input_schema, coalesce(w.workers, 0) as workers, w.last_seen_at`;

/** @param lanes whose workers are looked up; null: of all */
const from = (lanes: string): string => `left join kind k on k.name = n.name
    left join kind_description d on d.kind_id = k.id
    left join (
      select c.lane, count(*) filter (where c.heard_at > clock_timestamp() - interval '1 minute') as workers,
        max(c.heard_at) as last_seen_at
      from lane_claimers(${lanes}, null) c group by c.lane) w on w.lane = k.id`;

const LIST: Statement = {
  name: 'kinds.list',
  text: `select ${COLUMNS} from (
      (select k.name from kind k where k.name > $2 order by k.name limit $3)
      union select u.name from unnest($1::text[]) u(name) where u.name > $2
      order by name limit $3) n
    ${from('null')} order by n.name`,
};

const GET: Statement = {
  name: 'kinds.get',
  text: `select ${COLUMNS} from (
      select k.name from kind k where k.name = $2 union select u.name from unnest($1::text[]) u(name) where u.name = $2) n
    ${from('array(select k.id from kind k where k.name = $2)')}`,
};

const DESCRIBE: Statement = {
  name: 'kinds.describe',
  text: `insert into kind_description as d (kind_id, description, input_schema, updated_at)
    select k.id, x.description, x.input_schema, clock_timestamp()
    from jsonb_to_recordset($1::jsonb) as x(name text, description text, input_schema jsonb) join kind k on k.name = x.name
    order by k.id
    on conflict (kind_id) do update
      set description = excluded.description, input_schema = excluded.input_schema, updated_at = excluded.updated_at
      where (d.description, d.input_schema) is distinct from (excluded.description, excluded.input_schema)
    returning kind_id`,
};

/** Times are milliseconds since the epoch. */
export interface KindRow extends KindDescription {
  /** Workers seen within a minute: processes that claim its tasks or read its queue. */
  workers: number;
  last_seen_at: number | null;
}

/** Returns kinds by name, at most `limit` after `after`: those of tasks, those of workers, and those named. */
export function listKinds(
  queryable: Queryable,
  named: readonly string[],
  { after, limit }: { after: string; limit: number },
): Promise<KindRow[]> {
  return queryable.query<KindRow>(LIST, [named, after, limit]);
}

export async function getKind(queryable: Queryable, named: readonly string[], name: string): Promise<KindRow | null> {
  return (await queryable.query<KindRow>(GET, [named, name]))[0] ?? null;
}

/** Stores descriptions of existing kinds; equal ones are not written again. */
export async function describeKinds(queryable: Queryable, kinds: readonly KindDescription[]): Promise<number> {
  return (await queryable.query(DESCRIBE, [JSON.stringify(kinds)])).length;
}
