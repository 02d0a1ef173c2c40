import type { Queryable, Statement } from '../database.ts';
import { COUNT_CAP } from './counts.ts';

/** Queues are found one after the other by index, each counted up to a bound. */
const QUEUES: Statement = {
  name: 'queues.list',
  text: `with recursive live(queue, place) as (
      (select q.queue, 1 from queue_message q order by q.queue limit 1)
      union all
      select (select q.queue from queue_message q where q.queue > l.queue order by q.queue limit 1), l.place + 1
      from live l where l.queue is not null and l.place < $3
    ), dead(queue, place) as (
      (select q.queue, 1 from queue_dead q order by q.queue limit 1)
      union all
      select (select q.queue from queue_dead q where q.queue > l.queue order by q.queue limit 1), l.place + 1
      from dead l where l.queue is not null and l.place < $3
    )
    select n.queue, m.ready, m.in_flight, m.delayed, m.oldest_at, d.dead
    from (select queue from live where queue is not null union select queue from dead where queue is not null) n
    cross join lateral (
      select count(*) filter (where x.visible_at <= $1::timestamptz) as ready,
        count(*) filter (where x.visible_at > $1::timestamptz and x.receipt is not null) as in_flight,
        count(*) filter (where x.visible_at > $1::timestamptz and x.receipt is null) as delayed,
        min(x.sent_at) filter (where x.visible_at <= $1::timestamptz) as oldest_at
      from (select visible_at, receipt, sent_at from queue_message q where q.queue collate "POSIX" = n.queue
        order by q.visible_at limit $2 + 1) x) m
    cross join lateral (
      select count(*) as dead from (select 1 from queue_dead q where q.queue = n.queue limit $2 + 1) x) d
    order by n.queue limit $3`,
};

/** Open attempts by kind, of those that leases list. */
const RUNNING_BY_KIND: Statement = {
  name: 'queues.running_by_kind',
  text: `select k.name as kind, count(*) as n
    from (select id, task_ids from lease order by id desc limit $1) l cross join unnest(l.task_ids) u(id)
    cross join lateral (select t.kind_id from task t where t.id = u.id and t.lease_id = l.id offset 0) t join kind k on k.id = t.kind_id group by k.name`,
};

/** Kinds with workers that were seen in the last minute. */
const LIVE_KINDS: Statement = {
  name: 'queues.live_kinds',
  text: `select k.id as lane, k.name as kind, count(*) as workers
    from lane_claimers(null, $1::timestamptz) c join kind k on k.id = c.lane
    where c.heard_at > $1::timestamptz - $2 * interval '1 millisecond' group by k.id, k.name order by k.name limit 1000`,
};

const DELAYED_BY_KIND: Statement = {
  name: 'queues.delayed_by_kind',
  text: `select k.name as kind, count(*) as n from (select task_id from delayed order by run_at, task_id limit $1) d
    cross join lateral (select t.kind_id from task t where t.id = d.task_id offset 0) t join kind k on k.id = t.kind_id group by k.name`,
};

export interface QueueRow {
  queue: string;
  ready: number;
  in_flight: number;
  delayed: number;
  oldest_at: number | null;
  dead: number;
}

export function findQueues(queryable: Queryable, now: number, limit: number): Promise<QueueRow[]> {
  return queryable.query(QUEUES, [new Date(now).toISOString(), COUNT_CAP, limit]);
}

export async function countRunningKinds(queryable: Queryable): Promise<Map<string, number>> {
  const rows = await queryable.query<{ kind: string; n: number }>(RUNNING_BY_KIND, [COUNT_CAP]);
  return new Map(rows.map(({ kind, n }) => [kind, n]));
}

export async function countDelayedKinds(queryable: Queryable): Promise<Map<string, number>> {
  const rows = await queryable.query<{ kind: string; n: number }>(DELAYED_BY_KIND, [COUNT_CAP]);
  return new Map(rows.map(({ kind, n }) => [kind, n]));
}

export function findLiveKinds(
  queryable: Queryable,
  now: number,
  goneMs: number,
): Promise<{ lane: number; kind: string; workers: number }[]> {
  return queryable.query(LIVE_KINDS, [new Date(now).toISOString(), goneMs]);
}
