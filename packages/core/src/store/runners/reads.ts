import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';

/** A runner that has not been launched has the properties that it was planned with. */
const RUNNER_COLUMNS = `r.id, r.number, r.provider, r.provider_id, coalesce(y.resource_class, s.resource_class) as resource_class,
      coalesce(y.usage_class, s.usage_class) as usage_class, coalesce(y.instance_type, '') as instance_type,
      coalesce(y.cpu, b.cpu, 0) as cpu, coalesce(y.memory_mib, b.memory_mib, 0) as memory_mib, r.state, r.epoch, r.request_id, r.uses,
      r.threshold, r.created_at, r.state_since, l.seen_at, r.address, r.draining, r.reason`;

const RUNNER_TABLES = `left join runner_type y on y.id = r.type_id left join runner_shape s on s.id = r.shape_id
    left join runner_batch b on b.id = r.batch_id left join runner_heartbeat l on l.runner_id = r.id`;

/** Selects the page before the joins. */
function pageOf(among: string): string {
  return withCodes(`select ${RUNNER_COLUMNS} from (
      select r.* from runner r
      where ${among} ($1::smallint is null or r.state = $1) and ($2::boolean or r.state < :runner_terminated)
        and ($3::text is null or case when r.type_id is null
          then exists (select 1 from runner_shape k where k.id = r.shape_id and k.resource_class = $3)
          else exists (select 1 from runner_type k where k.id = r.type_id and k.resource_class = $3) end)
      order by r.number desc limit $4 offset $5) r ${RUNNER_TABLES}
    order by r.number desc`);
}

const LIST: Statement = { name: 'runners.list', text: pageOf('') };

const FIND: Statement = { name: 'runners.find', text: pageOf('r.id = any($6::uuid[]) and') };

/** All runners of a batch have the same class. */
const CLASS_OF: Statement = {
  name: 'runners.class_of',
  text: `select coalesce(y.resource_class, s.resource_class) as resource_class
    from (select r.type_id, r.shape_id from runner r where r.id = $1 or ($1::uuid is null and r.batch_id = $2) limit 1) r
    left join runner_type y on y.id = r.type_id left join runner_shape s on s.id = r.shape_id`,
};

const OF_REQUESTS: Statement = {
  name: 'runners.of_requests',
  text: `select ${RUNNER_COLUMNS} from runner r ${RUNNER_TABLES} where r.request_id = any($1::uuid[]) order by r.number`,
};

const CENSUS: Statement = { name: 'runners.census', text: `select * from runner_census()` };

const SAMPLES: Statement = {
  name: 'runners.samples',
  text: `select at, resource_class, usage_class, created, idle, claimed, running, waiting
    from runner_sample where at >= $1::timestamptz order by at, resource_class, usage_class limit $2`,
};

const TYPES: Statement = {
  name: 'runners.types',
  text: withCodes(`select y.resource_class, y.usage_class, y.instance_type, y.cpu, y.memory_mib,
      (select count(*) from runner r where r.type_id = y.id and r.state = :runner_idle) as idle
    from runner_type y order by y.id limit $1`),
};

/** Usage classes and states are database codes; times are milliseconds since the epoch. */
export interface RunnerRow {
  readonly id: string;
  readonly number: number;
  readonly provider: string;
  readonly provider_id: string | null;
  readonly resource_class: string;
  readonly usage_class: number;
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly state: number;
  readonly epoch: number;
  readonly request_id: string | null;
  readonly uses: number;
  readonly threshold: number;
  readonly created_at: number;
  readonly state_since: number;
  readonly seen_at: number | null;
  readonly address: string | null;
  readonly draining: boolean;
  readonly reason: string | null;
}

export interface CensusRow {
  readonly resource_class: string;
  readonly usage_class: number;
  readonly created: number;
  readonly idle: number;
  readonly claimed: number;
  readonly running: number;
  readonly waiting: number;
}

export interface TypeRow {
  readonly resource_class: string;
  readonly usage_class: number;
  readonly instance_type: string;
  readonly cpu: number;
  readonly memory_mib: number;
  readonly idle: number;
}

export interface RunnerRowFilter {
  readonly state: number | null;
  readonly resource_class: string | null;
  /** Whether to include runners that have ended. */
  readonly ended: boolean;
  /** Null: any. */
  readonly ids: readonly string[] | null;
}

/** Lists runners, the latest first. */
export function listRunners(
  queryable: Queryable,
  { state, resource_class, ended, ids }: RunnerRowFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<RunnerRow[]> {
  const values = [state, ended, resource_class, page.limit, page.offset];
  return ids === null ? queryable.query(LIST, values) : queryable.query(FIND, [...values, [...ids]]);
}

/** Returns the runners of requests, ordered by number. */
export function runnersOfRequests(queryable: Queryable, requestIds: readonly string[]): Promise<RunnerRow[]> {
  return queryable.query(OF_REQUESTS, [[...requestIds]]);
}

export function readCensus(queryable: Queryable): Promise<CensusRow[]> {
  return queryable.query(CENSUS);
}

/** Returns samples, oldest first. */
export function readSamples(
  queryable: Queryable,
  from: string,
  limit: number,
): Promise<(CensusRow & { readonly at: number })[]> {
  return queryable.query(SAMPLES, [from, limit]);
}

/** Returns the types that runners have or had, with their number of idle runners. */
export function readTypes(queryable: Queryable, limit: number): Promise<TypeRow[]> {
  return queryable.query(TYPES, [limit]);
}

/** Returns the class of a runner, or of the runners of a batch; null if there is none. */
export async function classOf(queryable: Queryable, id: string | null, batchId: string | null): Promise<string | null> {
  const [row] = await queryable.query<{ resource_class: string | null }>(CLASS_OF, [id, batchId]);
  return row?.resource_class ?? null;
}
