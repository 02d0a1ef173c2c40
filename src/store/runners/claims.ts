import type { Queryable, Statement } from '../database.ts';
import { uuidArray } from '../transitions.ts';
import type { RunnerMoment } from './moment.ts';

const CLAIM_IDLE: Statement = {
  name: 'runners.claim_idle',
  text: `select request_id, runners, exhaustion from runner_claim_idle($1, $2::uuid[], $3::timestamptz, $4::jsonb)`,
};

const CLAIM: Statement = {
  name: 'runners.claim',
  text: `select runner_claim($1::uuid, $2::uuid[], $3::timestamptz, $4::jsonb) as claimed`,
};

const HEADS: Statement = {
  name: 'runners.heads',
  text: `select id from runner_heads($1::uuid[], coalesce($2::timestamptz, clock_timestamp()))`,
};

export interface GrantedRow {
  readonly id: string;
  readonly number: number;
  readonly epoch: number;
  readonly instance_type: string;
  readonly address: string | null;
}

/** Runners: null where it got none; then why: 0 nobody of its class is idle, 1 not enough fit, 2 others held them. */
export interface ServedRow {
  readonly request_id: string;
  readonly runners: readonly GrantedRow[] | null;
  readonly exhaustion: number | null;
}

/** One row for each that was granted, in turn, and for each of those given that still waits. */
export function claimIdle(
  queryable: Queryable,
  limit: number,
  requestIds: readonly string[] | null,
  { now, times }: RunnerMoment,
): Promise<ServedRow[]> {
  return queryable.query(CLAIM_IDLE, [limit, requestIds === null ? null : uuidArray(requestIds), now, times]);
}

export async function claimNamed(
  queryable: Queryable,
  requestId: string,
  runnerIds: readonly string[],
  { now, times }: RunnerMoment,
): Promise<{ answers: string[]; runners: GrantedRow[] | null }> {
  const [row] = await queryable.query<{ claimed: { answers: string[]; runners: GrantedRow[] | null } }>(CLAIM, [
    requestId,
    uuidArray(runnerIds),
    now,
    times,
  ]);
  return row!.claimed;
}

/** Requests that wait and that one of these idle runners fits, those whose turn it is. */
export async function readHeads(
  queryable: Queryable,
  runnerIds: readonly string[],
  now: string | null,
): Promise<string[]> {
  return (await queryable.query<{ id: string }>(HEADS, [uuidArray(runnerIds), now])).map(({ id }) => id);
}
