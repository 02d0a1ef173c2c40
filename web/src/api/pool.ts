import type { Census, Pool, PoolRequest, PoolRequestDetail, Runner, Sample } from '@heddle/client';
import { getJson, segment } from './client.ts';
import { pageByNumber } from './paging.ts';
import { sendJson } from './tasks.ts';

export type RunnerState = Runner['state'];

/** States that are counted: terminated runners are not. */
export const COUNTED_STATES = ['running', 'claimed', 'idle', 'created'] as const satisfies readonly RunnerState[];
export type CountedState = (typeof COUNTED_STATES)[number];

/** Number of runners in each state, and of runners wanted by waiting requests. */
export type Counts = Pick<Census, CountedState | 'waiting'>;

const HISTORY_HOURS = 3;

/** What the console asks about runners. */
export const pool = {
  get: (signal: AbortSignal) => getJson<Pool>('/v1/pool', signal),
  history: (signal: AbortSignal) => getJson<Sample[]>(`/v1/pool/history?hours=${HISTORY_HOURS}`, signal),
  /** @param state empty: those that have not ended */
  runners: (state: string, resource_class: string, page: string | null, signal: AbortSignal) =>
    pageByNumber<Runner>('/v1/pool/runners', { state, resource_class }, page, signal),
  runner: (id: string, signal: AbortSignal) => getJson<Runner>(`/v1/pool/runners/${segment(id)}`, signal),
  requests: (state: 'waiting' | 'granted', page: string | null, signal: AbortSignal) =>
    pageByNumber<PoolRequest>('/v1/pool/requests', { state }, page, signal),
  request: (id: string, signal: AbortSignal) => getJson<PoolRequestDetail>(`/v1/pool/requests/${segment(id)}`, signal),
};

export type RunnerOperation = 'release' | 'drain' | 'terminate';

export async function operateRunner(id: string, operation: RunnerOperation): Promise<void> {
  await sendJson('POST', `/v1/pool/runners/${segment(id)}/${operation}`);
}

/** Ends the request of a holder and releases its runners. */
export async function releaseHold(id: string): Promise<void> {
  await sendJson('DELETE', `/v1/pool/requests/${segment(id)}`);
}
