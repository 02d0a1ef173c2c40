import type { NoticeAction } from '../domain/notification/notification.ts';
import type { Action } from '@heddle/base/vocabulary/task';
import type { Queryable, Statement } from './database.ts';
import type { TracedAttempt } from './traces.ts';
import { numberArray, uuidArray, type Moved, type Waits } from './transitions.ts';

const CLAIM: Statement = {
  name: 'deliveries.claim',
  text: `select id, task_id, workflow_id, attempt, trigger, ordinal, origin, action, tries, first_try_at, traceparent,
      idempotency_key
    from claim_deliveries($1, $2, $3, $4::text[], $5, $6)`,
};

const RENEW: Statement = {
  name: 'deliveries.renew',
  text: `update delivery d set next_try_at = coalesce($4::timestamptz, clock_timestamp()) + $3 * interval '1 millisecond'
    from (select id, tries from unnest($1::uuid[], $2::integer[]) u(id, tries) order by id) u
    where d.id = u.id and d.tries = u.tries and d.state = 'due' and d.holder is not null`,
};

const SETTLE: Statement = {
  name: 'deliveries.settle',
  text: `select settle_deliveries($1::jsonb, $2, $3) as moved`,
};

/** Conditions of a list: only those in use are in its statement, so that each can use its index. */
const FILTERS = {
  state: (parameter: string) => `state = ${parameter}`,
  task_id: (parameter: string) => `task_id = ${parameter}::uuid`,
  after: (parameter: string) =>
    `(created_at, id) < (select a.created_at, a.id from delivery a where a.id = ${parameter}::uuid)`,
} as const;

type Filter = keyof typeof FILTERS;

/** Deliveries of which those to an origin are picked: no index serves it, since each would cost every try. */
const EXAMINED_MAX = 20_000;

/** @param isDead the index of dead deliveries needs a literal */
function latestDeliveries(present: readonly Filter[], isDead: boolean): string {
  const conditions = present.map((filter, index) => FILTERS[filter](`$${index + 4}`));
  if (isDead) conditions.push("state = 'dead'");
  return `select * from delivery ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
    order by created_at desc, id desc`;
}

const listStatement = (family: string, present: readonly Filter[], isDead: boolean): Statement => ({
  name: [family, ...present, ...(isDead ? ['dead'] : [])].join('.'),
  text: `select d.id, d.task_id, d.workflow_id, d.attempt, d.trigger, d.ordinal, d.origin, d.action, d.tries,
      d.first_try_at, d.traceparent, d.idempotency_key, d.state, d.next_try_at, d.last_status, d.last_error,
      d.created_at, d.delivered_at, t.name as task_name, k.name as task_kind
    from (select l.* from (${latestDeliveries(present, isDead)} limit ${EXAMINED_MAX} + $2) l
      where $3::text is null or l.origin = $3 order by l.created_at desc, l.id desc limit $1 offset $2) d
    left join lateral (select t.name, t.kind_id from task_all t where t.id = d.task_id limit 1) t on true
    left join kind k on k.id = t.kind_id
    order by d.created_at desc, d.id desc`,
});

const EXISTS: Statement = { name: 'deliveries.exists', text: `select 1 as found from delivery where id = $1` };

const REPLAY: Statement = {
  name: 'deliveries.replay',
  text: `update delivery set state = 'due', next_try_at = coalesce($2::timestamptz, clock_timestamp()), tries = 0,
      first_try_at = null, holder = null, delivered_at = null
    where id = any($1::uuid[]) and state = 'dead' and trigger <> 'start'
    returning id`,
};

const RELEASE_STUCK: Statement = {
  name: 'deliveries.release_stuck',
  text: `select release_held(array(select task_id from delivery where state = 'held' order by created_at limit 1000),
    coalesce($1::timestamptz, clock_timestamp())) as released`,
};

const COUNT_BY_STATE: Statement = {
  name: 'deliveries.count_by_state',
  text: ['held', 'due', 'dead']
    // Each by its own index, which a list of states would not use.
    .map((state) => `select '${state}' as state, count(*) as n from delivery where state = '${state}'`)
    .join(' union all '),
};

export interface DeliveryRow {
  id: string;
  task_id: string;
  workflow_id: string;
  attempt: number;
  trigger: (Action | NoticeAction)['trigger'];
  ordinal: number;
  origin: string;
  action: (Action | NoticeAction) & { origin?: string };
  tries: number;
  first_try_at: number | null;
  traceparent: string | null;
  idempotency_key: string;
}

export interface DeliveryRecordRow extends DeliveryRow {
  state: 'held' | 'due' | 'delivered' | 'dead';
  next_try_at: number | null;
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  delivered_at: number | null;
  /** Null for a delivery about a workflow. */
  task_name: string | null;
  task_kind: string | null;
}

export interface DeliveryClaim {
  holder: string;
  limit: number;
  perOrigin: number;
  saturated: readonly string[];
  leaseMs: number;
}

export function claimDueDeliveries(
  queryable: Queryable,
  claim: DeliveryClaim,
  now: string | null,
): Promise<DeliveryRow[]> {
  return queryable.query<DeliveryRow>(CLAIM, [
    claim.holder,
    claim.limit,
    claim.perOrigin,
    claim.saturated,
    claim.leaseMs,
    now,
  ]);
}

export async function renewTries(
  queryable: Queryable,
  tries: readonly { id: string; tries: number }[],
  leaseMs: number,
  now: string | null,
): Promise<void> {
  const ids = uuidArray(tries.map((entry) => entry.id));
  await queryable.query(RENEW, [ids, numberArray(tries.map((entry) => entry.tries)), leaseMs, now]);
}

/** Result of one try, as settle_deliveries takes it. */
export interface DeliveryResultRow {
  id: string;
  tries: number;
  outcome: 'delivered' | 'retry' | 'dead';
  status: number | null;
  error?: string;
  delay_ms?: number;
  cancel_action?: Action & { origin: string };
}

export interface DeliveriesMoved {
  /** From ready to started. */
  begun: Waits[] | null;
  settled: Moved | null;
  /** Attempts that failed with it whose workflows have a trace. */
  attempts: TracedAttempt[] | null;
  workflows: string[] | null;
  /** Lanes where canceled attempts freed slots. */
  lanes: number[];
  deliveries: number;
  /** Number of results for tries that another process had taken over. */
  conflicts: number;
  /** Starts that are not retried because their attempt has ended. */
  skipped: number;
}

export async function settleTries(
  queryable: Queryable,
  results: readonly DeliveryResultRow[],
  jitter: number,
  now: string | null,
): Promise<DeliveriesMoved> {
  const [row] = await queryable.query<{ moved: DeliveriesMoved }>(SETTLE, [JSON.stringify(results), jitter, now]);
  return row!.moved;
}

export interface DeliveryListFilter {
  state?: string | undefined;
  task_id?: string | undefined;
  origin?: string | undefined;
  /** Deliveries older than this one. */
  after?: string | undefined;
  limit: number;
  offset: number;
}

export function findDeliveries(queryable: Queryable, filter: DeliveryListFilter): Promise<DeliveryRecordRow[]> {
  const isDead = filter.state === 'dead';
  const present = (Object.keys(FILTERS) as Filter[]).filter((name) => {
    return filter[name] !== undefined && !(isDead && name === 'state');
  });
  const values = [filter.limit, filter.offset, filter.origin ?? null, ...present.map((name) => filter[name])];
  return queryable.query(listStatement('deliveries.list', present, isDead), values);
}

export async function deliveryExists(queryable: Queryable, id: string): Promise<boolean> {
  return (await queryable.query(EXISTS, [id])).length > 0;
}

/** Makes dead deliveries due again, except starts whose attempt has ended. Returns their number. */
export async function replayDead(queryable: Queryable, ids: readonly string[], now: string | null): Promise<number> {
  return (await queryable.query(REPLAY, [uuidArray(ids), now])).length;
}

/** Releases deliveries that wait for a start delivery that is gone. */
export async function releaseStuck(queryable: Queryable, now: string | null): Promise<number> {
  const [row] = await queryable.query<{ released: number }>(RELEASE_STUCK, [now]);
  return row!.released;
}

export function countDeliveries(queryable: Queryable): Promise<{ state: string; n: number }[]> {
  return queryable.query(COUNT_BY_STATE);
}
