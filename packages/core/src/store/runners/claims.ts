import type { Queryable, Statement } from '../database.ts';
import { uuidArray } from '../transitions.ts';
import { NOTICES_COLUMN, type QueuedNoticeContext } from './notice-queue.ts';

const CLAIM_IDLE: Statement = {
  name: 'runners.claim_idle',
  text: `select s.request_id, s.runners, s.exhaustion, ${NOTICES_COLUMN}
    from (select 1) x left join lateral runner_claim_idle($1, $2::uuid[], $3::timestamptz, runner_times($4::jsonb)) s on true`,
};

const CLAIM: Statement = {
  name: 'runners.claim',
  text: `select s.claimed, ${NOTICES_COLUMN}
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

/** Exhaustion codes if no runners were granted: 0 none of the class is idle, 1 too few fit, 2 locked by others. */
export interface ServedRow {
  readonly request_id: string;
  readonly runners: readonly GrantedRow[] | null;
  readonly exhaustion: number | null;
}

/** Without a request ID if there is no answer. */
type AnswerRow = (ServedRow | (Omit<ServedRow, 'request_id'> & { readonly request_id: null })) & {
  readonly notices: string | null;
};

/** Returns a row for each granted request, in queue order, and for each given request that still waits. */
export async function claimIdle(
  queryable: Queryable,
  limit: number,
  requestIds: readonly string[] | null,
  { now, times, notify }: QueuedNoticeContext,
): Promise<ServedRow[]> {
  const values = [limit, requestIds === null ? null : uuidArray(requestIds), now, times];
  const rows = await queryable.query<AnswerRow>(CLAIM_IDLE, values);
  notify(rows[0]!.notices);
  return rows.filter((row) => row.request_id !== null);
}

export async function claimNamed(
  queryable: Queryable,
  requestId: string,
  runnerIds: readonly string[],
  { now, times, notify }: QueuedNoticeContext,
): Promise<{ answers: string[]; runners: GrantedRow[] | null }> {
  const [row] = await queryable.query<{
    claimed: { answers: string[]; runners: GrantedRow[] | null };
    notices: string | null;
  }>(CLAIM, [requestId, uuidArray(runnerIds), now, times]);
  notify(row!.notices);
  return row!.claimed;
}

/** Returns the IDs of EC2 runners by instance ID. */
export async function findByInstance(
  queryable: Queryable,
  instanceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await queryable.query<{ provider_id: string; id: string }>(OF_INSTANCES, [[...instanceIds]]);
  return new Map(rows.map(({ provider_id, id }) => [provider_id, id]));
}

/** Returns the first waiting requests that one of these idle runners fits. */
export async function readHeads(
  queryable: Queryable,
  runnerIds: readonly string[],
  now: string | null,
): Promise<string[]> {
  return (await queryable.query<{ id: string }>(HEADS, [uuidArray(runnerIds), now])).map(({ id }) => id);
}
