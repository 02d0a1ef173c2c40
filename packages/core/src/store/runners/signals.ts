import type { Queryable, Statement } from '../database.ts';
import { uuidArray } from '../transitions.ts';
import type { GrantedRow } from './claims.ts';
import { NOTICES_COLUMN, type QueuedNoticeContext } from './notice-queue.ts';

const REGISTER: Statement = {
  name: 'runners.register',
  text: `select s.orders, ${NOTICES_COLUMN} from (select runner_register($1::uuid, $2::uuid, $3, $4, $5::timestamptz, runner_times($6::jsonb)) as orders offset 0) s`,
};

const BEAT: Statement = {
  name: 'runners.beat',
  text: `select s.orders, ${NOTICES_COLUMN} from (select runner_beat($1::uuid, $2::timestamptz, runner_times($3::jsonb)) as orders offset 0) s`,
};

const ORDERS: Statement = { name: 'runners.orders', text: `select runner_orders($1::uuid, $2::timestamptz) as orders` };

const CONFIRM: Statement = {
  name: 'runners.confirm',
  text: `select s.confirmed, ${NOTICES_COLUMN}
    from (select runner_confirm($1::uuid, $2, $3::timestamptz, runner_times($4::jsonb)) as confirmed offset 0) s`,
};

const RELEASE: Statement = {
  name: 'runners.release',
  text: `select s.o_released as released, s.o_idle as idle, ${NOTICES_COLUMN}
    from runner_release($1::uuid, $2, $3::timestamptz, runner_times($4::jsonb)) s`,
};

const DRAIN: Statement = {
  name: 'runners.drain',
  text: `select s.n, ${NOTICES_COLUMN} from (select runner_drain($1::uuid[], $2, $3::timestamptz, runner_times($4::jsonb)) as n offset 0) s`,
};

const TERMINATE: Statement = {
  name: 'runners.terminate',
  text: `select s.n, ${NOTICES_COLUMN} from (select runner_terminate($1::uuid[], $2, $3::timestamptz, runner_times($4::jsonb)) as n offset 0) s`,
};

type Answer<Row> = Row & { readonly notices: string | null };

/** `threshold` and `now` are milliseconds since the epoch. */
export interface OrdersRow {
  readonly runner_id: string;
  readonly number: number;
  readonly state: 'created' | 'idle' | 'claimed' | 'running';
  readonly epoch: number;
  readonly request_id: string | null;
  readonly task_id: string | null;
  readonly ready: boolean;
  readonly peers: readonly GrantedRow[];
  readonly threshold: number;
  readonly draining: boolean;
  readonly now: number;
}

export interface RegistrationRow {
  readonly runner_id: string | null;
  readonly batch_id: string | null;
  readonly provider_id: string;
  readonly address: string | null;
}

export async function registerRunner(
  queryable: Queryable,
  { runner_id, batch_id, provider_id, address }: RegistrationRow,
  { now, times, notify }: QueuedNoticeContext,
): Promise<OrdersRow | null> {
  const values = [runner_id, batch_id, provider_id, address, now, times];
  const [row] = await queryable.query<Answer<{ orders: OrdersRow | null }>>(REGISTER, values);
  notify(row!.notices);
  return row!.orders;
}

export async function recordHeartbeat(
  queryable: Queryable,
  runnerId: string,
  { now, times, notify }: QueuedNoticeContext,
): Promise<OrdersRow | null> {
  const [row] = await queryable.query<Answer<{ orders: OrdersRow | null }>>(BEAT, [runnerId, now, times]);
  notify(row!.notices);
  return row!.orders;
}

export async function readOrders(
  queryable: Queryable,
  runnerId: string,
  now: string | null,
): Promise<OrdersRow | null> {
  return (await queryable.query<{ orders: OrdersRow | null }>(ORDERS, [runnerId, now]))[0]!.orders;
}

export async function confirmRunner(
  queryable: Queryable,
  runnerId: string,
  epoch: number,
  { now, times, notify }: QueuedNoticeContext,
): Promise<boolean> {
  const [row] = await queryable.query<Answer<{ confirmed: boolean }>>(CONFIRM, [runnerId, epoch, now, times]);
  notify(row!.notices);
  return row!.confirmed;
}

/** Releases a runner; `idle` lists the runners that became idle. */
export async function releaseRunner(
  queryable: Queryable,
  runnerId: string,
  epoch: number | null,
  { now, times, notify }: QueuedNoticeContext,
): Promise<{ released: boolean; idle: string[] }> {
  const values = [runnerId, epoch, now, times];
  const [row] = await queryable.query<Answer<{ released: boolean; idle: string[] }>>(RELEASE, values);
  notify(row!.notices);
  return row!;
}

/** Drains runners; returns how many were changed. */
export async function drainRunners(
  queryable: Queryable,
  runnerIds: readonly string[],
  reason: string,
  { now, times, notify }: QueuedNoticeContext,
): Promise<number> {
  const [row] = await queryable.query<Answer<{ n: number }>>(DRAIN, [uuidArray(runnerIds), reason, now, times]);
  notify(row!.notices);
  return row!.n;
}

/** Terminates runners; returns how many were ended. */
export async function terminateRunners(
  queryable: Queryable,
  runnerIds: readonly string[],
  reason: string,
  { now, times, notify }: QueuedNoticeContext,
): Promise<number> {
  const [row] = await queryable.query<Answer<{ n: number }>>(TERMINATE, [uuidArray(runnerIds), reason, now, times]);
  notify(row!.notices);
  return row!.n;
}
