import type { Queryable, Statement } from '../database.ts';
import { withCodes, type INSTANCE_CODE } from '../sql-names.ts';
import { numberArray, uuidArray } from '../transitions.ts';
import type { StatementContext } from './moment.ts';

const SWEEP: Statement = {
  name: 'runners.sweep',
  text: `select runner_sweep($1, $2::jsonb, $3::timestamptz, runner_times($4::jsonb)) as swept`,
};

const COUNT_ENDED: Statement = { name: 'runners.count_ended', text: `select runner_count_ended($1) as ended` };

const LEAVING: Statement = {
  name: 'runners.leaving',
  text: withCodes(`select id, provider_id from runner
    where provider = $1 and state = :runner_terminated and gone_at is null and provider_id is not null
    order by state_since limit $2`),
};

const GONE: Statement = {
  name: 'runners.gone',
  text: withCodes(`update runner set gone_at = coalesce($2::timestamptz, clock_timestamp())
    where id = any(array(
      select r.id from runner r where r.id = any($1::uuid[]) and r.state = :runner_terminated and r.gone_at is null order by r.id for update))`),
};

const RECONCILE: Statement = {
  name: 'runners.reconcile',
  text: `select runner_reconcile($1, $2::text[], $3::uuid[], $4::uuid[], $5::integer[], $6, $7::timestamptz, runner_times($8::jsonb)) as found`,
};

const FORGET: Statement = { name: 'runners.forget', text: `select runner_forget($1::timestamptz, $2) as n` };

const DELETE_UNUSED: Statement = { name: 'runners.forget_kinds', text: `select runner_forget_kinds($1, $2) as n` };

const SAMPLE: Statement = { name: 'runners.sample', text: `select runner_take_sample($1::timestamptz)` };

export interface SweptRow {
  readonly ended: Readonly<Record<string, number>>;
  readonly requeued: number;
  readonly expired: number;
  readonly released: number;
}

export interface KeptIdle {
  readonly resource_class: string;
  /** Database code. */
  readonly usage_class: number;
  readonly count: number;
}

export interface ListedInstance {
  readonly provider_id: string;
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly state: (typeof INSTANCE_CODE)[keyof typeof INSTANCE_CODE];
}

export async function sweepRunners(
  queryable: Queryable,
  limit: number,
  keep: readonly KeptIdle[],
  { now, times }: StatementContext,
): Promise<SweptRow> {
  const [row] = await queryable.query<{ swept: SweptRow }>(SWEEP, [limit, JSON.stringify(keep), now, times]);
  return row!.swept;
}

export interface EndedRow {
  readonly reason: string | null;
  /** Whether it was ever launched. */
  readonly had_instance: boolean;
  readonly count: number;
}

/** Counts ended runners that have not been counted yet. */
export async function countEnded(queryable: Queryable, limit: number): Promise<EndedRow[]> {
  return (await queryable.query<{ ended: EndedRow[] }>(COUNT_ENDED, [limit]))[0]!.ended;
}

export function readLeaving(
  queryable: Queryable,
  provider: string,
  limit: number,
): Promise<{ id: string; provider_id: string }[]> {
  return queryable.query(LEAVING, [provider, limit]);
}

export async function recordGone(queryable: Queryable, ids: readonly string[], now: string | null): Promise<void> {
  await queryable.query(GONE, [uuidArray(ids), now]);
}

/** @param limit maximum number of runners to end */
export async function reconcileListing(
  queryable: Queryable,
  provider: string,
  listed: readonly ListedInstance[],
  limit: number,
  { now, times }: StatementContext,
): Promise<{ orphans: string[]; vanished: number }> {
  const [row] = await queryable.query<{ found: { orphans: string[]; vanished: number } }>(RECONCILE, [
    provider,
    listed.map(({ provider_id }) => provider_id),
    listed.map(({ runner_id }) => runner_id),
    listed.map(({ batch_id }) => batch_id),
    numberArray(listed.map(({ state }) => state)),
    limit,
    now,
    times,
  ]);
  return row!.found;
}

export async function forgetRunners(queryable: Queryable, before: string, limit: number): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(FORGET, [before, limit]);
  return row!.n;
}

/** Deletes unused tenants, shapes and types if there are more than `keep` of them. */
export async function deleteUnusedShapesAndTypes(queryable: Queryable, keep: number, limit: number): Promise<number> {
  const [row] = await queryable.query<{ n: number }>(DELETE_UNUSED, [keep, limit]);
  return row!.n;
}

/** Records a sample of the classes for this minute; a second call in the same minute changes nothing. */
export async function takeSample(queryable: Queryable, now: string | null): Promise<void> {
  await queryable.query(SAMPLE, [now]);
}
