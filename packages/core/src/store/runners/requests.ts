import type { Requirements } from '@heddle/base/vocabulary/requirements';
import type { Queryable, Statement } from '../database.ts';
import { withCodes } from '../sql-names.ts';
import { numberArray, uuidArray } from '../transitions.ts';
import { NOTICES_COLUMN, type QueuedNoticeContext } from './notice-queue.ts';

const ASK: Statement = {
  name: 'runners.ask',
  text: `select s.asked, ${NOTICES_COLUMN} from (
    select runner_ask(row($1::uuid[], $2::integer[], $3::text[], $4::integer[], $5::smallint[], $6::text[],
      $7::integer[], $8::timestamptz[])::new_requests, $9::timestamptz, runner_times($10::jsonb)) as asked offset 0) s`,
};

const COLUMNS = `q.id, s.requirements, q.shape_id, q.tenant, q.count, q.kept, q.rank, q.state, q.source, q.run, q.attempt,
      q.exhaustion, q.reason, q.created_at, q.granted_at, q.expires_at`;

const FIND: Statement = {
  name: 'runners.find_requests',
  text: `select ${COLUMNS} from runner_request q join runner_shape s on s.id = q.shape_id where q.id = any($1::uuid[])`,
};

const WAITING: Statement = {
  name: 'runners.waiting',
  text: withCodes(`select ${COLUMNS} from runner_request q join runner_shape s on s.id = q.shape_id
    where q.state = :request_waiting and ($2::bigint is null or (q.rank, q.id) > ($2::bigint, $3::uuid))
      and ($4::integer[] is null or q.shape_id = any($4))
    order by q.rank, q.id limit $1`),
};

const GRANTED: Statement = {
  name: 'runners.granted',
  text: withCodes(`select ${COLUMNS} from runner_request q join runner_shape s on s.id = q.shape_id
    where q.state = :request_granted order by q.granted_at desc, q.id desc limit $1`),
};

const WITHDRAW: Statement = {
  name: 'runners.withdraw',
  text: `select s.idle, ${NOTICES_COLUMN} from (
    select runner_withdraw($1::uuid[], $2, $3::timestamptz, runner_times($4::jsonb)) as idle offset 0) s`,
};

const NOTE_EXHAUSTED: Statement = {
  name: 'runners.note_exhausted',
  text: `select runner_note_exhausted($1::uuid[], $2::smallint[])`,
};

/** `source`: 0 task, 1 holder; `expires_at`: ISO time. */
export interface NewRequestRow {
  readonly id: string;
  readonly shape_id: number;
  readonly tenant: string;
  readonly count: number;
  readonly source: number;
  readonly run: string;
  readonly attempt: number | null;
  readonly expires_at: string | null;
}

/** Times are milliseconds since the epoch. */
export interface RequestRow extends Omit<NewRequestRow, 'expires_at'> {
  readonly requirements: Requirements;
  readonly kept: number;
  readonly rank: number;
  readonly state: number;
  readonly exhaustion: number | null;
  readonly reason: string | null;
  readonly created_at: number;
  readonly granted_at: number | null;
  readonly expires_at: number | null;
}

/** Inserts requests; returns false, without any change, if one of the shapes no longer exists. */
export async function askForRunners(
  queryable: Queryable,
  rows: readonly NewRequestRow[],
  { now, times, notify }: QueuedNoticeContext,
): Promise<boolean> {
  const [row] = await queryable.query<{ asked: number; notices: string | null }>(ASK, [
    uuidArray(rows.map((row) => row.id)),
    numberArray(rows.map((row) => row.shape_id)),
    rows.map((row) => row.tenant),
    numberArray(rows.map((row) => row.count)),
    numberArray(rows.map((row) => row.source)),
    rows.map((row) => row.run),
    numberArray(rows.map((row) => row.attempt)),
    rows.map((row) => row.expires_at),
    now,
    times,
  ]);
  notify(row!.notices);
  return row!.asked >= 0;
}

export function findRequests(queryable: Queryable, ids: readonly string[]): Promise<RequestRow[]> {
  return queryable.query(FIND, [uuidArray(ids)]);
}

/** Lists waiting requests in queue order, optionally only those after a position or of these shapes. */
export function listWaiting(
  queryable: Queryable,
  limit: number,
  after: { readonly rank: number; readonly id: string } | undefined,
  shapeIds: readonly number[] | undefined,
): Promise<RequestRow[]> {
  const shapes = shapeIds === undefined ? null : numberArray(shapeIds);
  return queryable.query(WAITING, [limit, after?.rank ?? null, after?.id ?? null, shapes]);
}

/** Lists granted requests, the latest grant first. */
export function listGranted(queryable: Queryable, limit: number): Promise<RequestRow[]> {
  return queryable.query(GRANTED, [limit]);
}

/** Ends requests and returns the runners that became idle. */
export async function withdrawRequests(
  queryable: Queryable,
  ids: readonly string[],
  reason: string,
  { now, times, notify }: QueuedNoticeContext,
): Promise<string[]> {
  const values = [uuidArray(ids), reason, now, times];
  const [row] = await queryable.query<{ idle: string[]; notices: string | null }>(WITHDRAW, values);
  notify(row!.notices);
  return row!.idle;
}

export async function noteExhausted(
  queryable: Queryable,
  ids: readonly string[],
  exhaustions: readonly number[],
): Promise<void> {
  await queryable.query(NOTE_EXHAUSTED, [uuidArray(ids), numberArray(exhaustions)]);
}
