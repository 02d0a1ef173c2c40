import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { CapacityShortage } from '../../domain/runner/room.ts';
import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';
import { uuidArray } from '../transitions.ts';
import type { StatementContext } from './moment.ts';

const PLAN: Statement = {
  name: 'runners.plan',
  text: `select runner_plan($1::jsonb, $2, $3::timestamptz, runner_times($4::jsonb)) as planned`,
};

const FREE_CAPACITY: Statement = {
  name: 'runners.make_room',
  text: `select runner_plan_evictions($1::uuid, $2, $3, $4, $5, $6, $7::timestamptz, runner_times($8::jsonb)) as ended`,
};

const FIND_BATCHES: Statement = {
  name: 'runners.find_batches',
  text: `select b.id from runner_batch b where b.id = any($1::uuid[])`,
};

const TAKE_BATCHES: Statement = {
  name: 'runners.take_batches',
  text: `select * from runner_take_batches($1, $2, $3, $4, $5, $6::timestamptz)`,
};

const CLASS_OF_BATCH: Statement = {
  name: 'runners.class_of_batch',
  text: `select s.resource_class, s.usage_class from runner_batch b join runner_shape s on s.id = b.shape_id
    where b.id = $1`,
};

const LAUNCHED: Statement = {
  name: 'runners.launched',
  text: `select runner_launched($1, $2::jsonb, $3, $4::timestamptz, runner_times($5::jsonb))`,
};

const LAUNCH_FAILED: Statement = {
  name: 'runners.launch_failed',
  text: `select runner_launch_failed($1, $2, $3::timestamptz, $4::timestamptz, runner_times($5::jsonb))`,
};

/** Created runners count for the shape that they were planned for, even if another request gets them. */
const SHORTAGES: Statement = {
  name: 'runners.shortages',
  text: withCodes(`select w.shape_id, s.requirements, w.wanted, w.since,
      (select count(*) from runner r where r.shape_id = w.shape_id and r.state = :runner_created) as coming,
      (select count(*) from (
        select 1 from runner_fit f join runner r on r.type_id = f.type_id
        where f.shape_id = w.shape_id and r.state = :runner_idle and r.threshold > n.now and not r.draining
          and exists (select 1 from runner_heartbeat l where l.runner_id = r.id and after_ms(l.seen_at, n.times, 'heartbeat_max_age_ms') > n.now)
        limit w.wanted) i) as idle
    from (select coalesce($1::timestamptz, clock_timestamp()) as now, runner_times($2::jsonb) as times) n
    cross join lateral (
      select q.shape_id, sum(q.count - q.kept) as wanted, min(q.created_at) as since
      from runner_request q where q.state = :request_waiting and (q.expires_at is null or q.expires_at > n.now)
      group by q.shape_id) w
    join runner_shape s on s.id = w.shape_id
    order by w.since, w.shape_id`),
};

/** Concurrent callers skip these rows, so that an idle runner is offered once. */
const UNOFFERED: Statement = {
  name: 'runners.unoffered',
  text: withCodes(`with due as (
      select r.id from runner r
      where r.state = :runner_idle and not r.draining and r.threshold > coalesce($3::timestamptz, clock_timestamp())
        and (r.offered_at is null or r.offered_at < $2::timestamptz)
      order by r.offered_at nulls first, r.id limit $1 for update skip locked
    ), offered as (
      update runner r set offered_at = coalesce($3::timestamptz, clock_timestamp())
      where r.id = any(array(select d.id from due d))
      returning r.id, r.type_id, r.threshold
    )
    select o.id, y.resource_class, y.usage_class, y.instance_type, y.cpu, y.memory_mib, o.threshold
    from offered o join runner_type y on y.id = o.type_id order by o.id`),
};

/** A batch to be inserted. */
export interface BatchRow {
  readonly id: string;
  readonly provider: string;
  readonly shape_id: number;
  readonly cpu: number;
  readonly memory_mib: number;
  /** Created runners of the shape that the planner saw; null: not checked. */
  readonly coming: number | null;
  readonly runner_ids: readonly string[];
}

export interface TakenBatchRow {
  readonly id: string;
  readonly requirements: Requirements;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly runner_ids: readonly string[];
  readonly planned_at: number;
  readonly tries: number;
}

export interface LaunchedRow {
  readonly runner_id: string;
  readonly provider_id: string;
  readonly type_id: number;
}

export interface ShortageRow {
  readonly shape_id: number;
  readonly requirements: Requirements;
  readonly wanted: number;
  readonly coming: number;
  /** Idle runners that fit, up to `wanted`. */
  readonly idle: number;
  readonly since: number;
}

export interface OfferedRow {
  readonly id: string;
  readonly resource_class: string;
  readonly usage_class: number;
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly threshold: number;
}

/** @param maxRunners maximum number of runners that are not terminated; null: unlimited */
export async function planLaunches(
  queryable: Queryable,
  batches: readonly BatchRow[],
  maxRunners: number | null,
  { now, times }: StatementContext,
): Promise<number> {
  const [row] = await queryable.query<{ planned: number }>(PLAN, [JSON.stringify(batches), maxRunners, now, times]);
  return row!.planned;
}

/** Frees capacity; returns how many runners were ended. */
export async function freeCapacity(
  queryable: Queryable,
  { request_id, missing, coming, max_runners, overtakes, lease_ms }: CapacityShortage,
  { now, times }: StatementContext,
): Promise<number> {
  const values = [request_id, missing, coming, max_runners, overtakes, lease_ms, now, times];
  return (await queryable.query<{ ended: number }>(FREE_CAPACITY, values))[0]!.ended;
}

/** Returns those of the given batches that exist, in no particular order. */
export async function findBatches(queryable: Queryable, ids: readonly string[]): Promise<string[]> {
  return (await queryable.query<{ id: string }>(FIND_BATCHES, [uuidArray(ids)])).map(({ id }) => id);
}

/** @param rate runners per second, and burst */
export function takeBatches(
  queryable: Queryable,
  provider: string,
  limit: number,
  leaseMs: number,
  rate: { readonly per_second: number; readonly burst: number },
  now: string | null,
): Promise<TakenBatchRow[]> {
  return queryable.query(TAKE_BATCHES, [provider, limit, leaseMs, rate.per_second, rate.burst, now]);
}

/** Returns the class and usage class of a batch; null if the batch no longer exists. */
export async function classOfBatch(
  queryable: Queryable,
  batchId: string,
): Promise<{ resource_class: string; usage_class: number } | null> {
  const [row] = await queryable.query<{ resource_class: string; usage_class: number }>(CLASS_OF_BATCH, [batchId]);
  return row ?? null;
}

export async function recordLaunch(
  queryable: Queryable,
  batchId: string,
  runners: readonly LaunchedRow[],
  missing: string | null,
  { now, times }: StatementContext,
): Promise<void> {
  await queryable.query(LAUNCHED, [batchId, JSON.stringify(runners), missing, now, times]);
}

/** @param retryAt null: no retry */
export async function recordLaunchFailure(
  queryable: Queryable,
  batchId: string,
  reason: string,
  retryAt: string | null,
  { now, times }: StatementContext,
): Promise<void> {
  await queryable.query(LAUNCH_FAILED, [batchId, reason, retryAt, now, times]);
}

/** Returns shortages by shape, the longest wait first. */
export function readShortages(queryable: Queryable, { now, times }: StatementContext): Promise<ShortageRow[]> {
  return queryable.query(SHORTAGES, [now, times]);
}

/** Returns idle runners that were never offered, or not since `before`, and marks them as offered. */
export function takeUnoffered(
  queryable: Queryable,
  limit: number,
  before: string,
  now: string | null,
): Promise<OfferedRow[]> {
  return queryable.query(UNOFFERED, [limit, before, now]);
}
