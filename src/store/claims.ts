import type { JsonObject } from '../domain/json.ts';
import type { Queryable, Statement } from './database.ts';
import { numberArray, settleValues, type Moved, type SettleInput } from './transitions.ts';

const CLAIM: Statement = {
  name: 'tasks.claim',
  text: `select id, workflow_id, kind_id, name, attempt, metadata, timeout_secs, linked, waited_ms
    from claim($1::integer[], $2, $3, false, $4, $5)`,
};

/** The settle runs before the claim: it is the outer side of the join. */
const SETTLE_AND_CLAIM: Statement = {
  name: 'tasks.settle_and_claim',
  text: `with settled as materialized (
      select settle($1::uuid[], $2::integer[], $3::smallint[], $4::text[], $5::jsonb, false, $6::uuid[], $7, $8) as moved)
    select s.moved, null::uuid as id, null::uuid as workflow_id, null::integer as kind_id, null as name,
      null::integer as attempt, null::jsonb as metadata, null::integer as timeout_secs, null::boolean as linked,
      null::bigint as waited_ms
    from settled s
    union all
    select null, c.id, c.workflow_id, c.kind_id, c.name, c.attempt, c.metadata, c.timeout_secs, c.linked, c.waited_ms
    from settled s cross join lateral claim($9::integer[], $10, $11, false, $12, $8) c`,
};

const CLAIM_FOR_DELIVERY: Statement = {
  name: 'tasks.claim_for_delivery',
  text: `select id, kind_id, workflow_id, waited_ms from claim('{0}', $1, $2, true, $3, $4)`,
};

const SEEN: Statement = {
  name: 'claimers.seen',
  text: `insert into claimer (lane, holder, seen_at)
    select unnest($1::integer[]), $2, coalesce($3::timestamptz, clock_timestamp())
    on conflict (lane, holder) do update set seen_at = excluded.seen_at`,
};

const FORGET_CLAIMERS: Statement = {
  name: 'claimers.forget',
  text: `delete from claimer where seen_at < coalesce($1::timestamptz, clock_timestamp()) - interval '1 day'`,
};

export interface ClaimRow {
  id: string;
  workflow_id: string;
  kind_id: number;
  name: string;
  attempt: number;
  metadata: JsonObject;
  timeout_secs: number;
  linked: boolean;
  waited_ms: number;
}

export interface Claimed<Row> {
  rows: Row[];
  /** Tasks that were ready and that rules sent off to wait. */
  refused: number;
}

function claimedOf<Row extends { id: string | null; waited_ms: number }>(rows: Row[]): Claimed<Row> {
  const last = rows.at(-1);
  if (last?.id !== null) return { rows, refused: 0 };
  rows.pop();
  return { rows, refused: last.waited_ms };
}

export async function claimTasks(
  queryable: Queryable,
  lanes: readonly number[],
  limit: number,
  holder: string,
  claimTimeoutMs: number,
  now: string | null,
): Promise<Claimed<ClaimRow>> {
  return claimedOf(await queryable.query<ClaimRow>(CLAIM, [numberArray(lanes), limit, holder, claimTimeoutMs, now]));
}

/** Settles reports, then claims, in one statement. */
export async function settleAndClaim(
  queryable: Queryable,
  input: SettleInput,
  lanes: readonly number[],
  limit: number,
  holder: string,
  claimTimeoutMs: number,
): Promise<{ moved: Moved; claimed: Claimed<ClaimRow> }> {
  const [first, ...rows] = await queryable.query<ClaimRow & { moved: Moved | null }>(SETTLE_AND_CLAIM, [
    ...settleValues(input),
    numberArray(lanes),
    limit,
    holder,
    claimTimeoutMs,
  ]);
  return { moved: first!.moved!, claimed: claimedOf(rows) };
}

export async function claimTasksForDelivery(
  queryable: Queryable,
  limit: number,
  holder: string,
  claimTimeoutMs: number,
  now: string | null,
): Promise<Claimed<{ id: string; kind_id: number; workflow_id: string; waited_ms: number }>> {
  return claimedOf(await queryable.query(CLAIM_FOR_DELIVERY, [limit, holder, claimTimeoutMs, now]));
}

export async function markClaimerSeen(
  queryable: Queryable,
  lanes: readonly number[],
  holder: string,
  now: string | null,
): Promise<void> {
  await queryable.query(SEEN, [numberArray(lanes), holder, now]);
}

export async function forgetClaimers(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(FORGET_CLAIMERS, [now]);
}
