import type { Queryable, Statement } from '../database.ts';
import { failureReasonOf } from '../run-columns.ts';
import { withCodes } from '../sql-names.ts';

/** Rows of each trouble that are counted. */
export const TROUBLE_CAP = 1_000;

const ROWS_MAX = 20;

const DEAD_LETTERS: Statement = {
  name: 'home.dead_letters',
  text: `select queue, count(*) as n, min(dead_lettered_at) as since, (array_agg(reason order by dead_lettered_at desc))[1] as reason
    from (select queue, dead_lettered_at, reason from queue_dead order by dead_lettered_at desc, id desc limit $1 + 1) d
    group by queue order by count(*) desc, queue limit $2`,
};

const LOST_ATTEMPTS: Statement = {
  name: 'home.lost_attempts',
  text: withCodes(`select holder, count(*) as n, min(ended_at) as since, max(ended_at) as last_at,
      (array_agg(task_id order by ended_at desc))[1] as task_id
    from (
      select task_id, case when not starts_with(claimed_by, 'queue of ') then claimed_by end as holder, ended_at
      from task_attempt where outcome = :attempt_lost and ended_at > $1::timestamptz - interval '1 hour'
      order by ended_at desc limit $2 + 1) a
    group by holder order by max(ended_at) desc limit $3`),
};

/** The latest runs of each job: failed ones since the last success, why the last one did, and the latest skipped one. */
const JOBS: Statement = {
  name: 'home.jobs',
  text: `select j.id, j.name, j.paused_reason, j.updated_at, j.next_run_at, r.failed, r.since, r.state,
      ${failureReasonOf('r')} as reason,
      r.workflow_id, s.skipped_at, s.skipped_reason
    from (select * from recon.jobs order by name limit 1000) j
    cross join lateral (
      select count(*) as failed, min(y.completed_at) as since, (array_agg(y.state order by y.scheduled_for desc))[1] as state,
        (array_agg(y.reason order by y.scheduled_for desc))[1] as reason,
        (array_agg(y.workflow_id order by y.scheduled_for desc))[1] as workflow_id
      from (
        select x.*, bool_or(x.state in ('Succeeded', 'Disabled')) over (order by x.scheduled_for desc, x.id desc) as recovered
        from (select h.id, h.state, h.reason, h.workflow_id, h.scheduled_for, h.completed_at from recon.job_history h
          where h.job_id = j.id and h.completed_at is not null and h.state <> 'Skipped'
          order by h.scheduled_for desc, h.id desc limit 20) x) y
      where not y.recovered) r
    left join lateral (
      select x.scheduled_for as skipped_at, x.reason as skipped_reason from (
        select h.state, h.scheduled_for, h.reason from recon.job_history h
        where h.job_id = j.id order by h.scheduled_for desc, h.id desc limit 1) x
      where x.state = 'Skipped' and x.scheduled_for > $1::timestamptz - interval '1 day') s on true
    where r.failed > 0 or s.skipped_at is not null or j.paused_reason is not null
      or j.next_run_at < $1::timestamptz - interval '2 minutes'
    order by coalesce(r.since, s.skipped_at, j.updated_at) desc limit $2`,
};

const DEAD_DELIVERIES: Statement = {
  name: 'home.dead_deliveries',
  text: `select origin, count(*) as n, min(created_at) as since, (array_agg(last_error order by created_at desc))[1] as error,
      (array_agg(task_id order by created_at desc))[1] as task_id
    from (select origin, created_at, last_error, task_id from delivery where state = 'dead'
      order by created_at desc, id desc limit $1 + 1) d
    group by origin order by count(*) desc, origin limit $2`,
};

/** Goes from origin to origin by index, and looks at the first deliveries of each. */
const FAILING_ORIGINS: Statement = {
  name: 'home.failing_origins',
  text: `with recursive origins(origin, place) as (
      (select d.origin, 1 from delivery d where d.state = 'due' order by d.origin limit 1)
      union all
      select (select d.origin from delivery d where d.state = 'due' and d.origin > o.origin order by d.origin limit 1), o.place + 1
      from origins o where o.origin is not null and o.place < 200
    )
    select o.origin, count(*) as n, min(d.first_try_at) as since, (array_agg(d.last_error order by d.tries desc))[1] as error,
      (array_agg(d.task_id order by d.tries desc))[1] as task_id
    from origins o cross join lateral (
      select x.tries, x.last_error, x.first_try_at, x.task_id from delivery x
      where x.state = 'due' and x.origin = o.origin order by x.next_try_at, x.id limit 100) d
    where o.origin is not null and d.tries >= 3 and d.last_error is not null
    group by o.origin order by count(*) desc, o.origin limit $1`,
};

const FAILED_LAUNCHES: Statement = {
  name: 'home.failed_launches',
  text: `select b.provider, s.resource_class, count(*) as n, min(b.planned_at) as since, max(b.reason) as reason
    from runner_batch b join runner_shape s on s.id = b.shape_id
    where b.next_try_at is not null and b.reason is not null
    group by b.provider, s.resource_class order by count(*) desc limit $1`,
};

export interface DeadLettersRow {
  queue: string;
  n: number;
  since: number;
  reason: string;
}

export interface LostAttemptsRow {
  /** Null: workers that read queues, whose names attempts do not keep. */
  holder: string | null;
  n: number;
  since: number;
  last_at: number;
  task_id: string;
}

export interface JobTroubleRow {
  id: string;
  name: string;
  paused_reason: string | null;
  updated_at: number;
  next_run_at: number | null;
  /** Latest runs that failed, up to 20. */
  failed: number;
  since: number | null;
  state: string | null;
  reason: string | null;
  workflow_id: string | null;
  /** Occurrence that the latest entry skipped, within a day. */
  skipped_at: number | null;
  skipped_reason: string | null;
}

export interface OriginRow {
  origin: string;
  n: number;
  since: number;
  error: string | null;
  /** Task of the latest one, or the workflow that it reports. */
  task_id: string;
}

export interface FailedLaunchRow {
  provider: string;
  resource_class: string;
  n: number;
  since: number;
  reason: string;
}

export function findDeadLetters(queryable: Queryable): Promise<DeadLettersRow[]> {
  return queryable.query(DEAD_LETTERS, [TROUBLE_CAP, ROWS_MAX]);
}

/** Attempts of the last hour whose workers were lost, by worker. */
export function findLostAttempts(queryable: Queryable, now: number): Promise<LostAttemptsRow[]> {
  return queryable.query(LOST_ATTEMPTS, [new Date(now).toISOString(), TROUBLE_CAP, ROWS_MAX]);
}

export function findJobTroubles(queryable: Queryable, now: number): Promise<JobTroubleRow[]> {
  return queryable.query(JOBS, [new Date(now).toISOString(), ROWS_MAX]);
}

export function findDeadDeliveries(queryable: Queryable): Promise<OriginRow[]> {
  return queryable.query(DEAD_DELIVERIES, [TROUBLE_CAP, ROWS_MAX]);
}

/** Targets with deliveries that failed three times or more and are tried again. */
export function findFailingOrigins(queryable: Queryable): Promise<OriginRow[]> {
  return queryable.query(FAILING_ORIGINS, [ROWS_MAX]);
}

export function findFailedLaunches(queryable: Queryable): Promise<FailedLaunchRow[]> {
  return queryable.query(FAILED_LAUNCHES, [ROWS_MAX]);
}
