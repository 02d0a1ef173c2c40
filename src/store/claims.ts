import type { JsonObject } from '../domain/json.ts';
import type { Queryable, Statement } from './database.ts';
import { numberArray } from './transitions.ts';

const CLAIM: Statement = {
  name: 'tasks.claim',
  text: `select id, workflow_id, kind_id, name, attempt, metadata, timeout_secs, linked, waited_ms
    from claim($1::integer[], $2, $3, false, $4, $5)`,
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
