import type { Queryable, Statement } from '../database.ts';
import { uuidArray } from '../transitions.ts';
import type { GrantedRow } from './claims.ts';
import type { RunnerMoment } from './moment.ts';

/** Carries the id of a runner whose orders have changed. */
export const RUNNER_CHANNEL = 'heddle_runner';

/** Told, without words, when requests wait that idle runners may serve. */
export const POOL_CHANNEL = 'heddle_pool';

const REGISTER: Statement = {
  name: 'runners.register',
  text: `select runner_register($1::uuid, $2::uuid, $3, $4, $5::timestamptz, $6::jsonb) as orders`,
};

const BEAT: Statement = {
  name: 'runners.beat',
  text: `select runner_beat($1::uuid, $2::timestamptz, $3::jsonb) as orders`,
};

const ORDERS: Statement = { name: 'runners.orders', text: `select runner_orders($1::uuid) as orders` };

const CONFIRM: Statement = {
  name: 'runners.confirm',
  text: `select runner_confirm($1::uuid, $2, $3::timestamptz) as confirmed`,
};

const RELEASE: Statement = {
  name: 'runners.release',
  text: `select o_released as released, o_idle as idle from runner_release($1::uuid, $2, $3::timestamptz, $4::jsonb)`,
};

const DRAIN: Statement = {
  name: 'runners.drain',
  text: `select runner_drain($1::uuid[], $2, $3::timestamptz, $4::jsonb) as n`,
};

const TERMINATE: Statement = {
  name: 'runners.terminate',
  text: `select runner_terminate($1::uuid[], $2, $3::timestamptz, $4::jsonb) as n`,
};

/** `threshold` is milliseconds since the epoch. */
export interface OrdersRow {
  readonly runner_id: string;
  readonly number: number;
  readonly state: 'created' | 'idle' | 'claimed' | 'running';
  readonly epoch: number;
  readonly request_id: string | null;
  readonly task_id: string | null;
  readonly peers: readonly GrantedRow[];
  readonly threshold: number;
  readonly draining: boolean;
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
  { now, times }: RunnerMoment,
): Promise<OrdersRow | null> {
  const values = [runner_id, batch_id, provider_id, address, now, times];
  return (await queryable.query<{ orders: OrdersRow | null }>(REGISTER, values))[0]!.orders;
}

export async function noteBeat(
  queryable: Queryable,
  runnerId: string,
  { now, times }: RunnerMoment,
): Promise<OrdersRow | null> {
  return (await queryable.query<{ orders: OrdersRow | null }>(BEAT, [runnerId, now, times]))[0]!.orders;
}

export async function readOrders(queryable: Queryable, runnerId: string): Promise<OrdersRow | null> {
  return (await queryable.query<{ orders: OrdersRow | null }>(ORDERS, [runnerId]))[0]!.orders;
}

export async function confirmRunner(
  queryable: Queryable,
  runnerId: string,
  epoch: number,
  now: string | null,
): Promise<boolean> {
  return (await queryable.query<{ confirmed: boolean }>(CONFIRM, [runnerId, epoch, now]))[0]!.confirmed;
}

/** `idle`: the runners that are idle because of it. */
export async function releaseRunner(
  queryable: Queryable,
  runnerId: string,
  epoch: number | null,
  { now, times }: RunnerMoment,
): Promise<{ released: boolean; idle: string[] }> {
  const [row] = await queryable.query<{ released: boolean; idle: string[] }>(RELEASE, [runnerId, epoch, now, times]);
  return row!;
}

/** Returns how many it changed. */
export async function drainRunners(
  queryable: Queryable,
  runnerIds: readonly string[],
  reason: string,
  { now, times }: RunnerMoment,
): Promise<number> {
  return (await queryable.query<{ n: number }>(DRAIN, [uuidArray(runnerIds), reason, now, times]))[0]!.n;
}

/** Returns how many it ended. */
export async function terminateRunners(
  queryable: Queryable,
  runnerIds: readonly string[],
  reason: string,
  { now, times }: RunnerMoment,
): Promise<number> {
  return (await queryable.query<{ n: number }>(TERMINATE, [uuidArray(runnerIds), reason, now, times]))[0]!.n;
}
