import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';

/** Counts end here; further rows are not read. */
export const COUNT_CAP = 10_000;

/** Ready tasks are counted further, since tasks that wait are the difference. */
const READY_CAP = 100_000;

const OPEN_RUNS: Statement = {
  name: 'home.open_runs',
  text: `select count(*) as runs, coalesce(sum(remaining), 0) as tasks
    from (select remaining from workflow where ended_at is null order by id desc limit $1 + 1) w`,
};

/** Here and below, "offset 0" keeps the planner to a lookup for each task, never a scan of all of them. */
const RUNNING: Statement = {
  name: 'home.running',
  text: withCodes(`select count(*) as n from (
    select 1 from (select id, task_ids from lease order by id desc limit $1 + 1) l cross join unnest(l.task_ids) u(id)
    cross join lateral (select from task t where t.id = u.id and t.lease_id = l.id
      and (t.state + 0) in (:claimed, :running, :expanding) offset 0) t
    limit $1 + 1) x`),
};

const READY: Statement = {
  name: 'home.ready',
  text: `select count(*) as n from (select 1 from ready limit $1 + 1) x`,
};

const DELAYED: Statement = {
  name: 'home.delayed',
  text: withCodes(`select d.n, s.since, s.task_id, s.name
    from (select count(*) as n from (select 1 from delayed limit $1 + 1) x) d
    left join lateral (
      select t.id as task_id, t.name, f.run_at as since
      from (select run_at, task_id from delayed order by run_at, task_id limit 100) f
      join task t on t.id = f.task_id and (t.state + 0) = :pending order by f.run_at, f.task_id limit 1) s on true`),
};

const PAUSED: Statement = {
  name: 'home.paused',
  text: withCodes(`select count(*) as n, min(x.paused_at) as since, (array_agg(x.id order by x.id))[1] as task_id,
      (array_agg(x.name order by x.id))[1] as name
    from (select t.id, t.name, t.paused_at from paused_task p
      cross join lateral (select t.id, t.name, t.paused_at from task t
        where t.id = p.task_id and (t.state + 0) = :paused offset 0) t
      order by p.task_id limit $1 + 1) x having count(*) > 0`),
};

const LAST_HOUR: Statement = {
  name: 'home.last_hour',
  text: `select minute, started, succeeded, failed, canceled, waits from activity_minute
    where minute > $1::timestamptz - interval '1 hour' and minute <= $1::timestamptz order by minute`,
};

const NOW: Statement = {
  name: 'home.now',
  text: `select coalesce($1::timestamptz, clock_timestamp()) as now`,
};

/** Tasks of one reason to wait: since when the first one does, and which it is. */
export interface WaitingRow {
  n: number;
  since: number;
  task_id: string | null;
  name: string | null;
}

export interface MinuteRow {
  minute: number;
  started: number;
  succeeded: number;
  failed: number;
  canceled: number;
  waits: number[];
}

export async function timeOfDatabase(queryable: Queryable, now: string | null): Promise<number> {
  return (await queryable.query<{ now: number }>(NOW, [now]))[0]!.now;
}

/** Open workflows and batches, and the tasks of those that have not ended. */
export async function countOpen(queryable: Queryable): Promise<{ runs: number; tasks: number }> {
  return (await queryable.query<{ runs: number; tasks: number }>(OPEN_RUNS, [COUNT_CAP]))[0]!;
}

export async function countRunning(queryable: Queryable): Promise<number> {
  return (await queryable.query<{ n: number }>(RUNNING, [COUNT_CAP]))[0]!.n;
}

/** Counts up to 100,001. */
export async function countReady(queryable: Queryable): Promise<number> {
  return (await queryable.query<{ n: number }>(READY, [READY_CAP]))[0]!.n;
}

export async function findDelayed(queryable: Queryable): Promise<WaitingRow | null> {
  return (await queryable.query<WaitingRow>(DELAYED, [COUNT_CAP]))[0] ?? null;
}

export async function findPaused(queryable: Queryable): Promise<WaitingRow | null> {
  return (await queryable.query<WaitingRow>(PAUSED, [COUNT_CAP]))[0] ?? null;
}

export function findLastHour(queryable: Queryable, now: number): Promise<MinuteRow[]> {
  return queryable.query(LAST_HOUR, [new Date(now).toISOString()]);
}
