import type { Queryable, Statement } from '../database.ts';
import { uuidArray } from '../transitions.ts';
import { TOLD, type QuietMoment } from './told.ts';

const CLAIM_IDLE: Statement = {
  name: 'runners.claim_idle',
  text: `select s.request_id, s.runners, s.exhaustion, ${TOLD}
    from (select 1) x left join lateral runner_claim_idle($1, $2::uuid[], $3::timestamptz, runner_times($4::jsonb)) s on true`,
};

const CLAIM: Statement = {
  name: 'runners.claim',
  text: `select s.claimed, ${TOLD}
    from (select runner_claim($1::uuid, $2::uuid[], $3::timestamptz, runner_times($4::jsonb)) as claimed offset 0) s`,
};

const HEADS: Statement = {
  name: 'runners.heads',
  text: `select id from runner_heads($1::uuid[], coalesce($2::timestamptz, clock_timestamp()))`,
};

const OF_INSTANCES: Statement = {
  name: 'runners.of_instances',
  text: `select r.provider_id, r.id from runner r where r.provider = 'ec2' and r.provider_id = any($1::text[])`,
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

/** Without an id where nothing was to be said. */
type AnswerRow = (ServedRow | (Omit<ServedRow, 'request_id'> & { readonly request_id: null })) & {
  readonly told: string | null;
};

/** One row for each that was granted, in turn, and for each of those given that still waits. */
export async function claimIdle(
  queryable: Queryable,
  limit: number,
  requestIds: readonly string[] | null,
  { now, times, tell }: QuietMoment,
): Promise<ServedRow[]> {
  const values = [limit, requestIds === null ? null : uuidArray(requestIds), now, times];
  const rows = await queryable.query<AnswerRow>(CLAIM_IDLE, values);
  tell(rows[0]!.told);
  return rows.filter((row) => row.request_id !== null);
}

export async function claimNamed(
  queryable: Queryable,
  requestId: string,
  runnerIds: readonly string[],
  { now, times, tell }: QuietMoment,
): Promise<{ answers: string[]; runners: GrantedRow[] | null }> {
  const [row] = await queryable.query<{
    claimed: { answers: string[]; runners: GrantedRow[] | null };
    told: string | null;
  }>(CLAIM, [requestId, uuidArray(runnerIds), now, times]);
  tell(row!.told);
  return row!.claimed;
}

/** Returns the ids of runners that are instances on EC2, by the ids of these. */
export async function findByInstance(
  queryable: Queryable,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await queryable.query<{ provider_id: string; id: string }>(OF_INSTANCES, [[...instanceIds]]);
  return new Map(rows.map(({ provider_id, id }) => [provider_id, id]));
}

/** Requests that wait and that one of these idle runners fits, those whose turn it is. */
export async function readHeads(
  queryable: Queryable,
  runnerIds: readonly string[],
  now: string | null,
): Promise<string[]> {
  return (await queryable.query<{ id: string }>(HEADS, [uuidArray(runnerIds), now])).map(({ id }) => id);
}
