import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';

const PRESENT: Statement = {
  name: 'workers.present',
  text: `insert into worker as w (holder, type, version, host, kinds, concurrency, running, started_at, seen_at)
    select u.holder, u.type, u.version, u.host, array(select jsonb_array_elements_text(u.kinds)), u.concurrency,
      u.running, u.started_at, coalesce($2::timestamptz, clock_timestamp())
    from jsonb_to_recordset($1::jsonb) u(holder text, type text, version text, host text, kinds jsonb,
      concurrency integer, running integer, started_at timestamptz)
    order by u.holder
    on conflict (holder) do update set type = excluded.type, version = excluded.version, host = excluded.host,
      kinds = excluded.kinds, concurrency = excluded.concurrency, running = excluded.running, started_at = excluded.started_at,
      seen_at = excluded.seen_at, left_at = null`,
};

/** Others no longer count on it, for example to read a queue. */
const LEAVE: Statement = {
  name: 'workers.leave',
  text: `with gone as (delete from claimer where holder = $1)
    update worker set left_at = coalesce($2::timestamptz, clock_timestamp()) where holder = $1`,
};

const FORGET: Statement = {
  name: 'workers.forget',
  text: `delete from worker where greatest(seen_at, left_at) < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'`,
};

/**
 * Those that registered, those that only claim, and those that only hold tasks; running tasks count as a sign of life,
 * since a busy worker claims nothing. Messages to queues are no workers.
 */
const LIST: Statement = {
  name: 'workers.list',
  text: withCodes(`with held as (
      select r.holder, count(*) as running, max(r.updated_at) as heard_at,
        json_agg(json_build_object('id', r.id, 'name', r.name, 'kind', r.kind_id,
          'claimed_at', (extract(epoch from r.claimed_at) * 1000)::bigint) order by r.place) filter (where r.place <= 20) as tasks
      from (
        select l.holder, t.id, t.name, t.kind_id, t.claimed_at, t.updated_at,
          row_number() over (partition by l.holder order by t.claimed_at, t.id) as place
        from (select id, holder, queued_kind, task_ids from lease order by id desc limit 10000) l cross join unnest(l.task_ids) u(id)
        cross join lateral (select t.* from task t where t.id = u.id and t.lease_id = l.id
          and (t.state + 0) in (:claimed, :running, :expanding) offset 0) t
        where l.queued_kind is null or (t.state + 0) = :running
        limit 10000) r
      where not starts_with(r.holder, 'queue of ') group by r.holder
    ), claims as (
      select c.holder, array_agg(c.lane order by c.lane) as lanes, max(c.seen_at) as seen_at, max(c.concurrency) as concurrency
      from claimer c group by c.holder
    )
    select n.holder, w.type, w.version, w.host, w.kinds, w.concurrency, w.started_at, c.lanes,
      c.concurrency as queue_concurrency, coalesce(h.running, w.running, 0) as running, h.tasks,
      greatest(w.seen_at, c.seen_at, h.heard_at) as seen_at
    from (select holder from worker where left_at is null union select holder from claims union select holder from held) n
    left join worker w on w.holder = n.holder left join claims c on c.holder = n.holder
    left join held h on h.holder = n.holder
    where (w.left_at is null or h.running > 0 or c.seen_at > w.left_at + interval '1 minute')
      and greatest(w.seen_at, c.seen_at, h.heard_at) > $1::timestamptz - interval '1 day'
    order by seen_at desc, n.holder limit $2`),
};

export interface PresenceRow {
  holder: string;
  type: 'server' | 'worker' | 'queue_worker' | 'runner';
  version: string | null;
  host: string | null;
  kinds: readonly string[];
  concurrency: number | null;
  /** Tasks that it runs, of one that reads queues; null: counted by its leases. */
  running: number | null;
  /** Milliseconds since the epoch. */
  started_at: number;
}

export interface WorkerRow {
  holder: string;
  /** Null: it never registered. */
  type: PresenceRow['type'] | null;
  version: string | null;
  host: string | null;
  kinds: string[] | null;
  concurrency: number | null;
  started_at: number | null;
  /** Lanes that it claims from. */
  lanes: number[] | null;
  /** Of one that reads a queue. */
  queue_concurrency: number | null;
  running: number;
  tasks: { id: string; name: string; kind: number; claimed_at: number }[] | null;
  seen_at: number;
}

export async function markPresent(
  queryable: Queryable,
  workers: readonly PresenceRow[],
  now: string | null,
): Promise<void> {
  const rows = workers.map((worker) => ({ ...worker, started_at: new Date(worker.started_at).toISOString() }));
  await queryable.query(PRESENT, [JSON.stringify(rows), now]);
}

export async function markLeft(queryable: Queryable, holder: string, now: string | null): Promise<void> {
  await queryable.query(LEAVE, [holder, now]);
}

export async function forgetWorkers(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(FORGET, [now]);
}

/** Returns the workers of the last day, the latest seen first. */
export function findWorkers(queryable: Queryable, now: number, limit: number): Promise<WorkerRow[]> {
  return queryable.query(LIST, [new Date(now).toISOString(), limit]);
}
